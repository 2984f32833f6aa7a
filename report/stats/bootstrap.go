package stats

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
)

// Pair is one instance with a value on each side: whether it was resolved (0 or 1), the mean of
// that over attempts, its cost, or its steps. Cluster is its repository. Each pair without a
// cluster is a cluster of its own.
type Pair struct {
	Cluster string
	A, B    float64
}

// Bootstrap resamples clusters. The zero value makes 10,000 draws from seed 1, for a level of 0.95.
//
// A draw keeps each cluster, with all of its pairs, or leaves it out, both with probability 1/2.
// These weights of 2 or 0 have the same mean and variance as the weights 0, 1, 2... of the usual
// bootstrap. Each draw is used together with its complement. If Draws is enough for all subsets,
// each is taken once, and the seed does not matter. The interval is between quantiles of the
// statistic over the subsets. The same pairs in the same order give the same interval on every
// machine.
//
// By the theorem of Hartigan ("Using subsample values as typical values", JASA 64, 1969) this
// interval of a mean has exactly the requested level, for any number of clusters and any sizes, if
// the sums of clusters vary independently and symmetrically around their expectation. The usual
// percentile bootstrap needs many clusters of similar size; a benchmark has twelve repositories,
// one of them with half of the instances. In simulations with the repositories of SWE-bench
// Verified (500 instances and samples of 100 of them) the usual one covers the true difference in
// 87-93 % of the draws and this one in 94-97 %, with and without differences between repositories.
// An interval that takes instances as independent is a quarter narrower; if the difference varies
// between repositories by a standard deviation of 0.06, it covers the truth in 69 %.
type Bootstrap struct {
	Draws int     // at least 1,000 for a level of 0.95
	Seed  uint64  // 0 is 1
	Level float64 // of confidence, between 0 and 1
}

func (b Bootstrap) withDefaults() Bootstrap {
	if b.Draws <= 0 {
		b.Draws = 10_000
	}
	if b.Seed == 0 {
		b.Seed = 1
	}
	if b.Level == 0 {
		b.Level = 0.95
	}
	return b
}

// Difference returns the interval of mean(B) - mean(A). It contains the observed difference, and is
// negated when the sides are exchanged. With fewer clusters than the level needs (6 for 0.95)
// instances are resampled instead. It is unknown with fewer instances than that, or if a value is
// not finite. If all pairs have the same difference it has no width; for rates see
// [Bootstrap.RateDifference].
// [Bootstrap.RateDifference] for rates.
func (b Bootstrap) Difference(pairs []Pair) Interval { return b.interval(pairs, groups.means) }

// MedianDifference returns the interval of the median of B - A over pairs, as
// [Bootstrap.Difference] does for the mean.
func (b Bootstrap) MedianDifference(pairs []Pair) Interval { return b.interval(pairs, groups.medians) }

// statistic appends its value over the clusters in a draw, and its value over all other clusters.
// It appends nothing for an empty set.
type statistic func(values []float64, in []bool) []float64

func (b Bootstrap) interval(pairs []Pair, of func(groups) statistic) Interval {
	b = b.withDefaults()
	if !b.possible() || !finite(pairs) {
		return unknown
	}
	g := b.grouped(pairs)
	if g.clusters < b.Least() {
		return unknown
	}
	return b.typical(g.clusters, of(g)).interval()
}

func (b Bootstrap) possible() bool { return 0 < b.Level && b.Level < 1 }

// Least returns the number of clusters that the level needs: 6 for 0.95. With fewer, instances are
// resampled.
func (b Bootstrap) Least() int {
	b = b.withDefaults()
	return int(math.Ceil(math.Log2(2/(1-b.Level)) - 1e-9))
}

// alwaysAll is the number of subsets up to which all are taken, whatever the number of draws.
const alwaysAll = 64

// typical computes the values of a statistic over the subsets.
func (b Bootstrap) typical(clusters int, of statistic) typical {
	values, _ := b.subsets(clusters, of)
	slices.Sort(values)
	ranks := float64(len(values) + 1)
	return typical{values: values, tail: (1 - b.Level) / 2, step: max(1, ranks/math.Exp2(float64(clusters)))}
}

// subsets returns the values of a statistic over subsets of clusters, and whether those are all.
func (b Bootstrap) subsets(clusters int, of statistic) (values []float64, every bool) {
	in := make([]bool, clusters)
	if clusters < 30 && 1<<clusters <= max(b.Draws, alwaysAll) {
		return everySubset(in, of), true
	}
	for source, n := rand.NewPCG(b.Seed, 0), 0; n < b.Draws; n += 2 {
		draw(source, in)
		values = of(values, in)
	}
	return values, false
}

// draw chooses a subset.
func draw(source rand.Source, in []bool) {
	for i := 0; i < len(in); i += 64 {
		bits := source.Uint64()
		for j := i; j < min(i+64, len(in)); j++ {
			in[j] = bits&1 == 1
			bits >>= 1
		}
	}
}

// everySubset fixes the last cluster, since each subset's complement is included too.
func everySubset(in []bool, of statistic) []float64 {
	if len(in) == 0 {
		return of(nil, in)
	}
	var values []float64
	for mask := range 1 << (len(in) - 1) {
		for i := range in {
			in[i] = mask>>i&1 == 1
		}
		values = of(values, in)
	}
	return values
}

// Interval is a confidence interval, including both ends.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Known reports whether the interval could be computed. Otherwise its ends are NaN, which JSON
// cannot hold.
func (i Interval) Known() bool { return !math.IsNaN(i.Low) && !math.IsNaN(i.High) }

// Contains reports whether x is in the interval. An unknown interval contains nothing.
func (i Interval) Contains(x float64) bool { return i.Low <= x && x <= i.High }

var unknown = Interval{Low: math.NaN(), High: math.NaN()}

// typical has the sorted values of a statistic over subsets of clusters. N values have N+1 gaps,
// and the truth is in each gap with the same probability.
type typical struct {
	values []float64
	tail   float64 // the probability below an interval
	// step is the number of ranks of one subset. An end or a p value between two steps would need a
	// probability that so few clusters cannot give.
	step float64
}

func (t typical) ranks() float64 { return float64(len(t.values) + 1) }

// rank returns the rank at which an interval begins; 0 if there are too few subsets.
func (t typical) rank() float64 {
	return math.Floor(t.tail*t.ranks()/t.step+1e-9) * t.step
}

// interval returns the interval between the values at the rank from both ends. With too few subsets
// it reaches nearly from the smallest to the largest value.
func (t typical) interval() Interval {
	rank := t.rank()
	if rank == 0 {
		rank = t.tail * t.ranks()
	}
	low := valueAt(t.values, rank)
	negated := slices.Clone(t.values)
	for i, v := range t.values {
		negated[len(negated)-1-i] = -v
	}
	return Interval{Low: low, High: -valueAt(negated, rank)}
}

// p returns the two-sided p value of x: at most twice the tail exactly if the interval excludes x.
func (t typical) p(x float64) float64 {
	at := rankOf(t.values, x)
	steps := math.Floor(min(at, t.ranks()-at) / t.step)
	return min(1, 2*(steps+1)*t.step/t.ranks())
}

func (t typical) leastP() float64 { return min(1, 2*t.step/t.ranks()) }

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
