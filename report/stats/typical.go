package stats

import (
	"math"
	"slices"
)

// typical are the values of a statistic over subsets of clusters, in order. N values make N+1
// gaps, of equal probability for the truth.
type typical struct {
	values []float64
	tail   float64 // the probability below an interval
	// step is how many ranks a subset takes. Ends and p values between two steps would be of a
	// probability that so few clusters do not have.
	step float64
}

func (t typical) ranks() float64 { return float64(len(t.values) + 1) }

// rank is where an interval begins; 0 where there are too few subsets for one.
func (t typical) rank() float64 {
	return math.Floor(t.tail*t.ranks()/t.step+1e-9) * t.step
}

// interval is between the values of the rank from both ends. With too few subsets it is
// nearly from the least to the largest value.
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

// p is the two-sided p value of x: at most twice the tail exactly where the interval leaves
// out x.
func (t typical) p(x float64) float64 {
	at := rankOf(t.values, x)
	steps := math.Floor(min(at, t.ranks()-at) / t.step)
	return min(1, 2*(steps+1)*t.step/t.ranks())
}

func (t typical) leastP() float64 { return min(1, 2*t.step/t.ranks()) }
