package dataset

import (
	"math"
	"math/big"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

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
