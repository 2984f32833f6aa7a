package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// groups has the differences of pairs, each with the number of its cluster.
type groups struct {
	diffs    []float64
	cluster  []int
	clusters int
}

// grouped numbers clusters by name, so that the result does not depend on the order of pairs with a
// cluster. If there are too few clusters, each pair becomes one.
func (b Bootstrap) grouped(pairs []Pair) groups {
	g := byCluster(pairs)
	if g.clusters < b.Least() {
		for i := range g.cluster {
			g.cluster[i] = i
		}
		g.clusters = len(pairs)
	}
	return g
}

func byCluster(pairs []Pair) groups {
	number := map[string]int{}
	for _, p := range pairs {
		if p.Cluster != "" {
			number[p.Cluster] = 0
		}
	}
	for i, name := range slices.Sorted(maps.Keys(number)) {
		number[name] = i
	}
	g := groups{clusters: len(number)}
	for _, p := range pairs {
		n, ok := number[p.Cluster]
		if !ok {
			n = g.clusters
			g.clusters++
		}
		g.diffs, g.cluster = append(g.diffs, p.B-p.A), append(g.cluster, n)
	}
	return g
}

func finite(pairs []Pair) bool {
	return !slices.ContainsFunc(pairs, func(p Pair) bool { return math.IsNaN(p.A-p.B) || math.IsInf(p.A-p.B, 0) })
}

// means returns the mean difference of the clusters in a draw, and of all others.
func (g groups) means() statistic { return g.meansOf([]cluster{{}}) }

// meansWith is means for the clusters alone, and with a part of an additional instance that has the
// low value, the high value, or both.
func (g groups) meansWith(low, high, part float64) statistic {
	return g.meansOf([]cluster{{}, {part * low, part}, {part * high, part}, {part * (low + high), 2 * part}})
}

// grain returns the smallest difference that is not 0, or 1 if there is none, as with single
// attempts.
func (g groups) grain() float64 {
	least := 1.0
	for _, d := range g.diffs {
		if size := math.Abs(d); size > 0 {
			least = min(least, size)
		}
	}
	return least
}

// cluster is a sum of differences and their number.
type cluster struct{ sum, n float64 }

func (g groups) sums() []cluster {
	list := make([]cluster, g.clusters)
	for i, d := range g.diffs {
		list[g.cluster[i]].sum += d
		list[g.cluster[i]].n++
	}
	return list
}

func (g groups) meansOf(extra []cluster) statistic {
	sums := g.sums()
	return func(values []float64, in []bool) []float64 {
		var drawn, others cluster
		for c, is := range in {
			if is {
				drawn.sum, drawn.n = drawn.sum+sums[c].sum, drawn.n+sums[c].n
			} else {
				others.sum, others.n = others.sum+sums[c].sum, others.n+sums[c].n
			}
		}
		for _, part := range []cluster{drawn, others} {
			for _, e := range extra {
				if n := part.n + e.n; n > 0 {
					values = append(values, (part.sum+e.sum)/n)
				}
			}
		}
		return values
	}
}

func (g groups) mean() float64 {
	sum := 0.0
	for _, c := range g.sums() {
		sum += c.sum
	}
	return sum / float64(len(g.diffs))
}

// medians returns the median difference of the clusters in a draw, and of all others.
func (g groups) medians() statistic {
	order := make([]int, len(g.diffs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(g.diffs[i], g.diffs[j]) })
	var drawn, others []float64
	return func(values []float64, in []bool) []float64 {
		drawn, others = drawn[:0], others[:0]
		for _, i := range order {
			if in[g.cluster[i]] {
				drawn = append(drawn, g.diffs[i])
			} else {
				others = append(others, g.diffs[i])
			}
		}
		for _, sorted := range [][]float64{drawn, others} {
			if len(sorted) > 0 {
				values = append(values, middle(sorted))
			}
		}
		return values
	}
}
