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
	r := parquet.NewGenericReader[any](f)
	defer r.Close()
	for {
		var part [64]any
		n, err := r.Read(part[:])
		for _, v := range part[:n] {
			rows = append(rows, row{place{name, "row", len(rows) + 1}, parquetValue(f.Schema(), v).(map[string]any)})
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, brokenParquet(name, err)
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
