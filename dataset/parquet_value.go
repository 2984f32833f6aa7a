package dataset

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// parquetValue returns a value that the reader gave for a column as it stands in
// Instance.Fields: numbers as int64 and float64, bytes as text. What has no type
// of its own there becomes text too: times as RFC 3339 in UTC, dates as
// 2006-01-02, decimals with their scale (the reader makes them floating-point numbers,
// so what is beyond those is rounded). Lists and maps are changed in place.
func parquetValue(col parquet.Node, v any) any {
	switch x := v.(type) {
	case map[string]any:
		pairs := field(field(col, "key_value"), "value") // of a map; a struct has members of its own
		for name, item := range x {
			if pairs != nil {
				x[name] = parquetValue(pairs, item)
			} else {
				x[name] = parquetValue(field(col, name), item)
			}
		}
		return x
	case []any:
		for i, item := range x {
			x[i] = parquetValue(element(col), item)
		}
		return x
	case nil, bool:
		return x
	}
	if col != nil && col.Leaf() {
		if text, ok := logical(col.Type(), v); ok {
			return text
		}
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return r.Int()
	case r.CanUint():
		return int64(r.Uint())
	case r.CanFloat():
		return r.Float()
	case isBytes(r):
		return string(bytesOf(r))
	default:
		return fmt.Sprint(v)
	}
}

// field returns the column's member of that name, or nil.
func field(col parquet.Node, name string) parquet.Node {
	if col == nil || col.Leaf() {
		return nil
	}
	for _, f := range col.Fields() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// element returns what a list's values are of: below a list's own wrappers where it
// has them.
func element(col parquet.Node) parquet.Node {
	if col == nil || col.Leaf() || col.Type().String() != "LIST" {
		return col
	}
	for range 2 { // whatever they are called
		if fields := col.Fields(); len(fields) == 1 {
			col = fields[0]
		}
		if col.Leaf() {
			break
		}
	}
	return col
}

// logical writes what a column's logical type makes of a number.
func logical(t parquet.Type, v any) (string, bool) {
	l := t.LogicalType()
	if l == nil {
		return "", false
	}
	r := reflect.ValueOf(v)
	switch l := l.Value.(type) {
	case *format.TimestampType:
		if r.CanInt() {
			perSecond := int64(time.Second / l.Unit.Value.Duration())
			sec, rest := r.Int()/perSecond, r.Int()%perSecond
			return time.Unix(sec, rest*int64(time.Second)/perSecond).UTC().Format(time.RFC3339Nano), true
		}
	case *format.DateType:
		if r.CanInt() {
			return time.Unix(r.Int()*24*60*60, 0).UTC().Format(time.DateOnly), true
		}
	case *format.DecimalType:
		if r.CanFloat() {
			return strconv.FormatFloat(r.Float(), 'f', int(l.Scale), 64), true
		}
	case *format.IntType:
		if r.CanInt() && r.Int() < 0 && !l.IsSigned {
			return strconv.FormatUint(uint64(r.Int()), 10), true
		}
	}
	return "", false
}

// isBytes reports whether r is text, or bytes in a slice or an array.
func isBytes(r reflect.Value) bool {
	k := r.Kind()
	return k == reflect.String || (k == reflect.Slice || k == reflect.Array) && r.Type().Elem().Kind() == reflect.Uint8
}

func bytesOf(r reflect.Value) []byte {
	if r.Kind() != reflect.Array {
		return []byte(r.Convert(reflect.TypeFor[string]()).String())
	}
	b := make([]byte, r.Len())
	reflect.Copy(reflect.ValueOf(b), r)
	return b
}
