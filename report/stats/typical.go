package stats

import (
	"math"
	"slices"
)

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
