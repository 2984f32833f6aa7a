package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Method names the way in which an interval was computed.
type Method string

// The methods of [Bootstrap.RateDifference] and [Bootstrap.Rate].
const (
	ByRepository Method = "bootstrap by repository"
	ByInstance   Method = "bootstrap by instance"
)

// RateTest is the result of a test for a difference of two rates. The interval excludes 0 exactly
// if P is at most 1 - Level.
type RateTest struct {
	Interval Interval
	P        float64 // two-sided, for no difference
	LeastP   float64 // the lowest p value that so many clusters, or instances, can give
	Method   Method
}

// RateDifference tests and estimates rate(B) - rate(A); A and B of the pairs are in 0..1. The
// interval contains the observed difference, and is negated when the sides are exchanged. It always
// has a width, also if all pairs agree.
//
// It is [Bootstrap.Difference] with half an additional instance that B won, and half of one that A
// won, each as a cluster of its own (Agresti and Min, "Simple improved confidence intervals for
// comparing matched proportions", Statistics in Medicine 24, 2005). Without them, few instances,
// and instances on which the sides hardly differ, give too few different sums. Means over several
// attempts give more sums, so only half of the smallest difference is added. The ranks come from
// the real clusters only: with G of them, no p value is below 2/2^G.
//
// If no pair differs, and if all differ by 1, the interval is at least as wide as the exact
// interval for as many independent results (Clopper and Pearson).
//
// Fewer clusters than the level needs (6 for 0.95) are not resampled: [ByInstance]. The result then
// describes the difference on these repositories and does not generalize to others like them. With
// fewer instances than that, no p value is low enough, and the interval contains 0. Without
// instances it is -1..1. It is unknown if a value is not in 0..1.
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

// Rate returns the interval of the mean of values in 0..1, one for each instance, by the method of
// [Bootstrap.RateDifference]: with half an additional instance of value 0, and half of one of value
// 1. An end of 0 or 1 that the values exclude, because some are higher or lower, is replaced by the
// end of the exact interval. An instance without a cluster is a cluster of its own. Without values
// the interval is 0..1. It is unknown if a value is not in 0..1, and if the lengths differ.
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
	return g.possible(g.widened(in, 0, 1, b.Level), mean, b.Level), method
}

// possible replaces an end of 0 or 1 that a rate of mean excludes: a draw can leave out each cluster
// with a failure, or with a success. The exact interval (Clopper and Pearson) is for as many
// independent results as there are if all of a cluster are the same (Kish, "Survey Sampling", 1965).
func (g groups) possible(in Interval, mean, level float64) Interval {
	squares, n := 0.0, float64(len(g.diffs))
	for _, c := range g.sums() {
		squares += c.n * c.n
	}
	results := n * n / squares
	good, bad := results*mean, results*(1-mean)
	if in.Low <= 0 && good > 0 {
		in.Low = mathext.InvRegIncBeta(good, bad+1, (1-level)/2)
	}
	if in.High >= 1 && bad > 0 {
		in.High = mathext.InvRegIncBeta(good+1, bad, (1+level)/2)
	}
	return in
}

// Shows reports whether a p value is low enough for the level.
func (b Bootstrap) Shows(p float64) bool { return p <= 1-b.withDefaults().Level+1e-9 }

func (b Bootstrap) method(pairs []Pair) Method {
	if byCluster(pairs).clusters >= b.Least() {
		return ByRepository
	}
	return ByInstance
}

// widened widens the interval of values that all equal 0 or one end of their range, by the
// probability that such a value differs although none of n results did.
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
