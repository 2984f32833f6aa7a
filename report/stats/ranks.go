package stats

import (
	"iter"
	"math"
)

// shared yields the distinct values among sorted ones, each with its rank. Ranks start at 1, and
// equal values share their middle rank. Sums of whole numbers are often equal, and if the interval
// ended at the last of several equal values, its coverage would be too large. Sums that differ only
// by rounding count as equal, and as 0 if they are near 0.
func shared(sorted []float64) iter.Seq2[float64, float64] {
	same := 1e-12 * max(math.Abs(sorted[0]), math.Abs(sorted[len(sorted)-1]))
	return func(yield func(rank, value float64) bool) {
		for from, to := 0, 0; from < len(sorted); from = to {
			for to = from + 1; to < len(sorted) && sorted[to]-sorted[from] <= same; to++ {
			}
			value := sorted[from]
			if math.Abs(value) <= same {
				value = 0
			}
			if !yield(float64(from+1+to)/2, value) {
				return
			}
		}
	}
}

// valueAt returns the value at a rank among sorted values, linear between two values.
func valueAt(sorted []float64, rank float64) float64 {
	before, last := 0.0, sorted[0]
	for at, value := range shared(sorted) {
		if at >= rank {
			return between(rank, before, at, last, value)
		}
		before, last = at, value
	}
	return last
}

// rankOf returns the rank of x among sorted values, linear between two values: the inverse of
// valueAt. It is 0 for an x below all values, and their number plus one for an x above all.
func rankOf(sorted []float64, x float64) float64 {
	before, last := 0.0, math.Inf(-1)
	for at, value := range shared(sorted) {
		switch {
		case value == x:
			return at
		case value > x && math.IsInf(last, -1):
			return 0
		case value > x:
			return between(x, last, value, before, at)
		}
		before, last = at, value
	}
	return float64(len(sorted) + 1)
}

// between returns y at x on the line from x0, y0 to x1, y1. The conversions prevent fused
// operations, which round differently on some machines.
func between(x, x0, x1, y0, y1 float64) float64 {
	part := (x - x0) / (x1 - x0)
	return float64((1-part)*y0) + float64(part*y1)
}
