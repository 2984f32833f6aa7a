package compare

import (
	"cmp"
	"math"
	"slices"

	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// newPair compares the rates of two sides.
func newPair(a, b side, boot stats.Bootstrap) Pair {
	p := Pair{
		A: a.scores.Name, B: b.scores.Name, Discordant: []Discordant{},
		LeftOut: LeftOut{A: map[scores.Reason]int{}, B: map[scores.Reason]int{}},
	}
	var pairs []stats.Pair
	for _, id := range ids(a, b) {
		ra, rb := a.at(id), b.at(id)
		if !ra.scored() || !rb.scored() {
			p.LeftOut.add(ra, rb)
			continue
		}
		p.LeftOut.Attempts += ra.without + rb.without
		p.add(ra, rb)
		p.ids = append(p.ids, id)
		pairs = append(pairs, stats.Pair{Cluster: repo(ra, rb), A: ra.Rate(), B: rb.Rate()})
	}
	p.N = len(pairs)
	if p.N > 0 {
		n := float64(p.N)
		p.RateA, p.RateB = (p.Both+p.OnlyA)/n, (p.Both+p.OnlyB)/n
		p.Difference = (p.OnlyB - p.OnlyA) / n
	}
	test := boot.RateDifference(pairs)
	p.Low, p.High, p.Method, p.P, p.LeastP = test.Interval.Low, test.Interval.High, test.Method, test.P, test.LeastP
	p.Tied = !boot.Shows(p.P)
	p.compared = pairs
	return p
}

// rateIntervals returns the intervals of both sides' rates.
func rateIntervals(pairs []stats.Pair, boot stats.Bootstrap) (a, b stats.Interval) {
	var clusters []string
	var ratesA, ratesB []float64
	for _, p := range pairs {
		clusters, ratesA, ratesB = append(clusters, p.Cluster), append(ratesA, p.A), append(ratesB, p.B)
	}
	a, _ = boot.Rate(ratesA, clusters)
	b, _ = boot.Rate(ratesB, clusters)
	return a, b
}

// add counts an instance. With several attempts, the instance is divided among the four counts:
// each gets the probability that one random attempt of each side has that outcome.
func (p *Pair) add(a, b result) {
	x, y := a.Rate(), b.Rate()
	p.Both += x * y
	p.OnlyA += x * (1 - y)
	p.OnlyB += (1 - x) * y
	p.Neither += (1 - x) * (1 - y)
	switch {
	case x == y:
		return
	case x > y:
		p.HigherA++
	default:
		p.HigherB++
	}
	p.Discordant = append(p.Discordant, Discordant{ID: a.ID, Repo: repo(a, b), A: x, B: y, OfA: a.effort(), OfB: b.effort()})
}

// add counts an instance without a score on at least one side.
func (l *LeftOut) add(a, b result) {
	l.Instances++
	if !a.scored() {
		l.A[a.left]++
	}
	if !b.scored() {
		l.B[b.left]++
	}
}

// repo returns the repository of an instance. It is empty if unknown; then the instance is its own
// cluster.
func repo(a, b result) string { return cmp.Or(a.Repo, b.Repo) }

// newMeasure compares a value that may be unknown for some instances. It returns nil if no instance
// has it on both sides, or if sums overflow.
func newMeasure(a, b side, boot stats.Bootstrap, of func(result) *float64) *Measure {
	var pairs []stats.Pair
	var differences []float64
	var sumA, sumB float64
	for _, id := range ids(a, b) {
		ra, rb := a.at(id), b.at(id)
		x, y := of(ra), of(rb)
		if !ra.scored() || !rb.scored() || x == nil || y == nil {
			continue
		}
		pairs = append(pairs, stats.Pair{Cluster: repo(ra, rb), A: *x, B: *y})
		differences = append(differences, *y-*x)
		sumA, sumB = sumA+*x, sumB+*y
	}
	if len(pairs) == 0 || !finite(sumA, sumB, sumB-sumA) {
		return nil
	}
	n := float64(len(pairs))
	m := &Measure{N: len(pairs), MeanA: sumA / n, MeanB: sumB / n}
	m.Difference = m.MeanB - m.MeanA
	if m.Median, _ = stats.Median(differences); !finite(m.Median) {
		return nil
	}
	m.Interval, m.MedianInterval = known(boot.Difference(pairs)), known(boot.MedianDifference(pairs))
	if m.MeanA > 0 {
		if relative := m.Difference / m.MeanA; finite(relative) {
			m.Relative, m.RelativeInterval = &relative, known(boot.RelativeDifference(pairs))
		}
	}
	return m
}

// finite reports whether JSON can hold the values.
func finite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// known returns nil for an interval that could not be computed.
func known(i stats.Interval) *stats.Interval {
	if !finite(i.Low, i.High) {
		return nil
	}
	return &i
}

// powerAsked is the power for which [Power] is computed.
const powerAsked = 0.8

func newPower(p Pair, boot stats.Bootstrap) Power {
	if p.N == 0 {
		return Power{}
	}
	var power Power
	plan := boot.Plan(p.compared)
	if n, ok := plan.Needed(p.Difference, powerAsked); ok {
		power.Needed = &n
	}
	if d, ok := plan.Detectable(powerAsked); ok {
		power.Smallest = &d
	}
	return power
}
