package stats

import (
	"cmp"
	"math"
	"slices"
)

// WestfallYoung returns the p values of comparisons of rates, corrected for their number, if [Holm]'s
// correction takes from one of them all that its few clusters can show. Otherwise it returns false.
// alone has the comparisons' tests without a correction. Each pair needs a cluster: those with the
// same name are the same in all comparisons.
//
// It is the step-down method of Westfall and Young ("Resampling-based multiple testing", 1993), by
// the subsets of clusters of [Bootstrap.RateDifference]. In each of them, the clusters that are left
// out change the sign of their differences, in all comparisons alike. The p value of the largest
// difference is the share of subsets in which the largest one of all comparisons is as large; the
// next one's is that without the first comparison, and so on. None becomes lower than the one before
// it, or than its own without a correction. With G clusters it can be 2/2^G, whatever the number of
// comparisons. The probability of any false difference is limited if the clusters' sums, of all
// comparisons together, vary independently and symmetrically.
func (b Bootstrap) WestfallYoung(comparisons [][]Pair, alone []RateTest) (p []float64, few bool) {
	b = b.withDefaults()
	clusters := map[string]int{}
	for i, pairs := range comparisons {
		few = few || b.Shows(alone[i].LeastP) && !b.Shows(alone[i].LeastP*float64(len(comparisons)))
		for _, pair := range pairs {
			if _, known := clusters[pair.Cluster]; !known {
				clusters[pair.Cluster] = len(clusters)
			}
		}
	}
	if !few {
		return nil, false
	}
	all, order := make([]flips, len(comparisons)), make([]int, len(comparisons))
	for i, pairs := range comparisons {
		all[i], order[i] = newFlips(pairs, clusters), i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(all[i].size, all[j].size) })
	p = make([]float64, len(all))
	var most []float64 // by subset: the largest difference of the comparisons up to here
	for _, i := range order {
		values, every := b.subsets(len(clusters), all[i].of)
		if most == nil {
			most = make([]float64, len(values))
		}
		reached, subsets := 0.0, float64(len(values))
		for k, v := range values {
			if most[k] = max(most[k], v); most[k] >= all[i].size-1e-9 {
				reached++
			}
		}
		if !every { // what was observed is one more
			reached, subsets = reached+1, subsets+1
		}
		p[i] = reached / subsets
	}
	largest := 0.0
	for _, i := range slices.Backward(order) {
		largest = max(largest, p[i], alone[i].P)
		p[i] = largest
	}
	return p, true
}

// flips has the sums of a comparison's differences by cluster.
type flips struct {
	sums []float64
	n    float64
	size float64 // of the observed difference
}

func newFlips(pairs []Pair, clusters map[string]int) flips {
	f := flips{sums: make([]float64, len(clusters)), n: max(1, float64(len(pairs)))}
	for _, p := range pairs {
		f.sums[clusters[p.Cluster]] += p.B - p.A
	}
	f.size = f.of(nil, make([]bool, len(clusters)))[0]
	return f
}

// of appends the size of the difference where all clusters but those in a subset change their sign.
func (f flips) of(values []float64, in []bool) []float64 {
	sum := 0.0
	for c, is := range in {
		if is {
			sum += f.sums[c]
		} else {
			sum -= f.sums[c]
		}
	}
	return append(values, math.Abs(sum)/f.n)
}

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
