package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"

	"batch.example/batch/fault"
)

const parquetMagic = "PAR1"

// readParquet returns the rows of the parquet file whose content is data.
func readParquet(name string, data []byte) (rows []row, err error) {
	// The decoder panics on some files that are damaged behind a sound footer.
	defer func() {
		if p := recover(); p != nil {
			rows, err = nil, brokenParquet(name, fmt.Errorf("decoder stopped: %v", p))
		}
	}()
	if !hasFooter(data) {
		return nil, brokenParquet(name, fmt.Errorf("cut short: %d bytes that do not end in a parquet footer", len(data)))
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, brokenParquet(name, err)
	}
	for _, g := range f.RowGroups() {
		part, err := readRowGroup(f.Root(), g)
		if err != nil {
			return nil, brokenParquet(name, err)
		}
		for _, fields := range part {
			rows = append(rows, row{place{name, "row", len(rows) + 1}, fields})
		}
	}
	if int64(len(rows)) != f.NumRows() {
		return nil, brokenParquet(name, fmt.Errorf("%d rows found where the footer says %d", len(rows), f.NumRows()))
	}
	return rows, nil
}

// hasFooter checks the footer's mark and length, which the decoder would
// otherwise believe and allocate.
func hasFooter(data []byte) bool {
	const tail = 4 + len(parquetMagic)
	if len(data) < len(parquetMagic)+tail || !bytes.HasSuffix(data, []byte(parquetMagic)) {
		return false
	}
	size := binary.LittleEndian.Uint32(data[len(data)-tail:])
	return uint64(size) <= uint64(len(data)-len(parquetMagic)-tail)
}

func brokenParquet(name string, err error) error {
	return fault.New(fault.Usage, "reading "+name, err).
		WithHint("the file is damaged or incomplete: download or copy it again")
}

// readRowGroup decodes column by column, which is how the file lies on disk.
func readRowGroup(root *parquet.Column, g parquet.RowGroup) ([]map[string]any, error) {
	chunks := g.ColumnChunks()
	var rows []map[string]any
	for i, col := range root.Columns() {
		name := col.Name()
		n := 0
		put := func(v any) {
			if i == 0 {
				rows = append(rows, make(map[string]any, len(root.Columns())))
			}
			rows[n][name] = v
			n++
		}
		var err error
		if col.Leaf() && !col.Repeated() {
			err = readFlat(col, chunks[col.Index()], put)
		} else {
			err = readNested(col, chunks, put)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		if n != len(rows) {
			return nil, fmt.Errorf("column %s has %d rows where the first has %d", name, n, len(rows))
		}
	}
	return rows, nil
}

// readFlat hands every value of a column without repetition to put, in order.
func readFlat(col *parquet.Column, chunk parquet.ColumnChunk, put func(any)) error {
	convert := converter(col)
	return eachValue(chunk, func(v parquet.Value) {
		if v.IsNull() {
			put(nil)
			return
		}
		put(convert(v))
	})
}

// eachValue calls do for every value of a chunk, nulls included. The value's
// bytes are only good until do returns.
func eachValue(chunk parquet.ColumnChunk, do func(parquet.Value)) error {
	pages := chunk.Pages()
	defer pages.Close()
	var buf [256]parquet.Value
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = eachOfPage(page, buf[:], do)
		parquet.Release(page)
		if err != nil {
			return err
		}
	}
}

func eachOfPage(page parquet.Page, buf []parquet.Value, do func(parquet.Value)) error {
	values := page.Values()
	for {
		n, err := values.ReadValues(buf)
		for _, v := range buf[:n] {
			do(v)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrNoProgress
		}
	}
}
