package stats

import "slices"

// RelativeDifference returns the interval of mean(B)/mean(A) - 1, for values that are not negative:
// how much more B costs than A. It contains the relative changes r for which the interval of
// [Bootstrap.Difference] between A*(1+r) and B contains 0, and so has the same properties. It is
// unknown if the difference's interval is, and if A's values are all 0 in a draw.
func (b Bootstrap) RelativeDifference(pairs []Pair) Interval {
	undefined := false
	in := b.interval(pairs, func(g groups) statistic {
		return g.ratios(pairs, func() { undefined = true })
	})
	if undefined {
		return unknown
	}
	return in
}

// ratios returns the relative difference for the clusters in a draw, and for all others. It calls
// bad if there is none.
func (g groups) ratios(pairs []Pair, bad func()) statistic {
	base, change := make([]float64, g.clusters), make([]float64, g.clusters)
	for i, d := range g.diffs {
		base[g.cluster[i]] += pairs[i].A
		change[g.cluster[i]] += d
	}
	return func(values []float64, in []bool) []float64 {
		for _, side := range []bool{true, false} {
			if !slices.Contains(in, side) {
				continue
			}
			whole, part := 0.0, 0.0
			for c, is := range in {
				if is == side {
					whole, part = whole+base[c], part+change[c]
				}
			}
			if whole <= 0 {
				bad()
			}
			values = append(values, part/whole)
		}
		return values
	}
}
