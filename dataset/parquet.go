package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"batch.example/batch/fault"
)

const parquetMagic = "PAR1"

// readParquet returns the rows in data, the content of a parquet file.
func readParquet(name string, data []byte) ([]row, error) {
	rows, err := parquetRows(name, data)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading "+name, err).
			WithHint("the file is damaged or incomplete: download or copy it again")
	}
	return rows, nil
}

func parquetRows(name string, data []byte) (rows []row, err error) {
	defer recovered(&err)
	if !hasFooter(data) {
		return nil, fmt.Errorf("cut short: %d bytes that do not end in a parquet footer", len(data))
	}
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	for _, g := range f.RowGroups() {
		part, err := readRowGroup(f.Root(), g)
		if err != nil {
			return nil, err
		}
		for _, fields := range part {
			rows = append(rows, row{place{name, "row", len(rows) + 1}, fields})
		}
	}
	if int64(len(rows)) != f.NumRows() {
		return nil, fmt.Errorf("%d rows found where the footer says %d", len(rows), f.NumRows())
	}
	return rows, nil
}

// hasFooter checks the footer's mark and length, since the decoder would otherwise allocate
// whatever length it finds.
func hasFooter(data []byte) bool {
	const tail = 4 + len(parquetMagic)
	if len(data) < len(parquetMagic)+tail || !bytes.HasSuffix(data, []byte(parquetMagic)) {
		return false
	}
	size := binary.LittleEndian.Uint32(data[len(data)-tail:])
	return uint64(size) <= uint64(len(data)-len(parquetMagic)-tail)
}

// readRowGroup decodes column by column, which is the order on disk.
func readRowGroup(root *parquet.Column, g parquet.RowGroup) ([]map[string]any, error) {
	columns, chunks := root.Columns(), g.ColumnChunks()
	values, failed := make([][]any, len(columns)), make([]error, len(columns))
	together(len(columns), func(i int) { values[i], failed[i] = readColumn(columns[i], chunks) })
	var rows []map[string]any
	for i, col := range columns {
		if failed[i] != nil {
			return nil, fmt.Errorf("column %s: %w", col.Name(), failed[i])
		}
		if i == 0 {
			rows = make([]map[string]any, len(values[0]))
			for n := range rows {
				rows[n] = make(map[string]any, len(columns))
			}
		}
		if len(values[i]) != len(rows) {
			return nil, fmt.Errorf("column %s has %d rows where the first has %d", col.Name(), len(values[i]), len(rows))
		}
		for n, v := range values[i] {
			rows[n][col.Name()] = v
		}
	}
	return rows, nil
}

func readColumn(col *parquet.Column, chunks []parquet.ColumnChunk) (values []any, err error) {
	defer recovered(&err)
	put := func(v any) { values = append(values, v) }
	if col.Leaf() && !col.Repeated() {
		err = readFlat(col, chunks[col.Index()], put)
	} else {
		err = readNested(col, chunks, put)
	}
	return values, err
}

// recovered turns a panic into an error: the decoder panics on some damaged files with an intact
// footer.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("decoder stopped: %v", p)
	}
}

// readFlat calls put with every value of a column without repetition, in order.
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

// eachValue calls do for every value of a chunk, including nulls. The value's bytes are valid only
// until do returns.
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

// converter returns a function that converts a leaf column's values to the types of
// Instance.Fields. Types without a counterpart become text: times as RFC 3339 in UTC, dates as
// 2006-01-02, decimals with all their digits.
func converter(col *parquet.Column) func(parquet.Value) any {
	kind := col.Type().Kind()
	if l := col.Type().LogicalType(); l != nil {
		switch t := l.Value.(type) {
		case *format.TimestampType:
			unit := t.Unit.Value.Duration()
			return func(v parquet.Value) any { return timestamp(v.Int64(), unit) }
		case *format.DateType:
			return func(v parquet.Value) any {
				return time.Unix(int64(v.Int32())*24*60*60, 0).UTC().Format(time.DateOnly)
			}
		case *format.DecimalType:
			scale := int(t.Scale)
			return func(v parquet.Value) any { return decimal(v, kind, scale) }
		case *format.IntType:
			if !t.IsSigned {
				return func(v parquet.Value) any { return unsigned(v, kind) }
			}
		}
	}
	switch kind {
	case parquet.Boolean:
		return func(v parquet.Value) any { return v.Boolean() }
	case parquet.Int32:
		return func(v parquet.Value) any { return int64(v.Int32()) }
	case parquet.Int64:
		return func(v parquet.Value) any { return v.Int64() }
	case parquet.Float:
		return func(v parquet.Value) any { return float64(v.Float()) }
	case parquet.Double:
		return func(v parquet.Value) any { return v.Double() }
	case parquet.Int96:
		return func(v parquet.Value) any { return v.String() }
	default:
		return func(v parquet.Value) any { return string(v.ByteArray()) }
	}
}

func timestamp(n int64, unit time.Duration) string {
	perSecond := int64(time.Second / unit)
	sec, rest := n/perSecond, n%perSecond
	return time.Unix(sec, rest*int64(unit)).UTC().Format(time.RFC3339Nano)
}

func unsigned(v parquet.Value, kind parquet.Kind) any {
	if kind == parquet.Int32 {
		return int64(v.Uint32())
	}
	if u := v.Uint64(); u > math.MaxInt64 {
		return float64(u)
	}
	return v.Int64()
}

func decimal(v parquet.Value, kind parquet.Kind, scale int) string {
	var n big.Int
	switch kind {
	case parquet.Int32:
		n.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		n.SetInt64(v.Int64())
	default: // big-endian two's complement
		b := v.ByteArray()
		n.SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 {
			n.Sub(&n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	den := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
	return new(big.Rat).SetFrac(&n, den).FloatString(scale)
}
