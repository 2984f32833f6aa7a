package stats

import (
	"math"
	"slices"
)

// Median returns the median of values, which it does not change. It returns false for no values and
// if one is NaN.
func Median(values []float64) (float64, bool) { return Quantile(values, 0.5) }

// Quantile returns the quantile q in 0..1 of values, which it does not change: linear between the
// two nearest values (type 7 of R and numpy). It returns false for no values, if one is NaN, and
// for a q outside of 0..1.
func Quantile(values []float64, q float64) (float64, bool) {
	if len(values) == 0 || !(0 <= q && q <= 1) || slices.ContainsFunc(values, math.IsNaN) {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below == len(sorted)-1 {
		return sorted[below], true
	}
	part := at - float64(below)
	return (1-part)*sorted[below] + part*sorted[below+1], true
}

// middle returns the median of sorted values, or NaN for none.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
