package stats

import (
	"math"
	"slices"
)

// Method says in words how an interval was made.
type Method string

// The methods of [Bootstrap.RateDifference] and [Bootstrap.Rate].
const (
	ByRepository Method = "bootstrap by repository"
	ByInstance   Method = "bootstrap by instance"
)

// RateTest is what one test says of the difference of two rates. The interval leaves out 0
// exactly where P is at most 1 - Level.
type RateTest struct {
	Interval Interval
	P        float64 // two-sided, of no difference
	LeastP   float64 // that so many clusters, or instances, can give
	Method   Method
}

// RateDifference tests and estimates rate(B) - rate(A); A and B of the pairs are in 0..1. The
// interval contains the difference observed, and is negated when the sides are exchanged. It
// always has a width, also where all pairs agree.
//
// It is [Bootstrap.Difference] with half an instance added that B won, and half a one that A
// won, each as a cluster of its own (Agresti and Min, "Simple improved confidence intervals
// for comparing matched proportions", Statistics in Medicine 24, 2005). Few instances, and
// instances on which the sides hardly differ, have too few different sums without them. Means
// over several attempts have more: of these, half of the smallest difference is added. The
// ranks are those of the clusters alone: G of them have no p value below 2/2^G.
//
// Where no pair differs, and where all differ by 1, it is at least as wide as the exact
// interval of as many independent results (Clopper and Pearson).
//
// Fewer clusters than the level needs (6 for 0.95) are not resampled: [ByInstance]. What is
// then shown is the difference on these repositories, not on others like them. With fewer
// instances than that, no p value is low enough, and the interval contains 0. Without
// instances it is -1..1. It is unknown where a value is not in 0..1.
func (b Bootstrap) RateDifference(pairs []Pair) RateTest {
	b = b.withDefaults()
	method := b.method(pairs)
	if !b.possible() || !areRates(pairs) {
		return RateTest{unknown, math.NaN(), math.NaN(), method}
	}
	if len(pairs) == 0 {
		return RateTest{Interval{Low: -1, High: 1}, 1, 1, method}
	}
	g := b.grouped(pairs)
	t := b.typical(g.clusters, g.meansWith(-1, 1, g.grain()/2))
	in, mean := t.interval(), g.mean()
	if t.rank() == 0 {
		in.Low, in.High = min(in.Low, 0), max(in.High, 0)
	}
	in = Interval{Low: min(in.Low, mean), High: max(in.High, mean)}
	return RateTest{g.widened(in, -1, 1, b.Level), t.p(0), t.leastP(), method}
}

// Rate is the interval of the mean of values in 0..1, one for each instance, by the method of
// [Bootstrap.RateDifference]: with half an instance added that has 0, and half a one that has
// 1. An instance without a cluster is a cluster of its own. Without values it is 0..1. It is
// unknown where a value is not in 0..1, and where the lengths differ.
func (b Bootstrap) Rate(values []float64, clusters []string) (Interval, Method) {
	b = b.withDefaults()
	if len(values) != len(clusters) {
		return unknown, ByInstance
	}
	pairs := make([]Pair, len(values))
	for i, v := range values {
		pairs[i] = Pair{Cluster: clusters[i], B: v}
	}
	method := b.method(pairs)
	if !b.possible() || !areRates(pairs) {
		return unknown, method
	}
	if len(pairs) == 0 {
		return Interval{Low: 0, High: 1}, method
	}
	g := b.grouped(pairs)
	in, mean := b.typical(g.clusters, g.meansWith(0, 1, 0.5)).interval(), g.mean()
	in = Interval{Low: min(in.Low, mean), High: max(in.High, mean)}
	return g.widened(in, 0, 1, b.Level), method
}

// Shows reports whether a p value is low enough for the level.
func (b Bootstrap) Shows(p float64) bool { return p <= 1-b.withDefaults().Level+1e-9 }

func (b Bootstrap) method(pairs []Pair) Method {
	if byCluster(pairs).clusters >= b.Least() {
		return ByRepository
	}
	return ByInstance
}

// widened widens an interval of values that are all the same, at an end of their range or 0:
// each of them could be something else with the chance that n results without it leave.
func (g groups) widened(in Interval, low, high, level float64) Interval {
	v, n := g.diffs[0], float64(len(g.diffs))
	if v != low && v != 0 && v != high || slices.ContainsFunc(g.diffs, func(d float64) bool { return d != v }) {
		return in
	}
	chance := 1 - math.Pow((1-level)/2, 1/n)
	return Interval{Low: min(in.Low, v-chance*(v-low)), High: max(in.High, v+chance*(high-v))}
}

func areRates(pairs []Pair) bool {
	for _, p := range pairs {
		if !(0 <= p.A && p.A <= 1 && 0 <= p.B && p.B <= 1) {
			return false
		}
	}
	return true
}
