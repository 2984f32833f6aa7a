package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm adjusts p values for the number of comparisons by Holm's step-down method, which limits the
// probability of any false difference without assumptions about dependence. The result has the
// order of p. NaN stays NaN and does not count as a comparison.
func Holm(p []float64) []float64 {
	adjusted, order := slices.Clone(p), []int{}
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	largest := 0.0
	for rank, i := range order {
		largest = max(largest, min(1, p[i]*float64(len(order)-rank)))
		adjusted[i] = largest
	}
	return adjusted
}
