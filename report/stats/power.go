package stats

import (
	"math"
	"math/rand/v2"
)

// Plan estimates what [Bootstrap.RateDifference] would show with other differences and other
// numbers of instances from the same repositories. Its pairs give the sizes of the repositories, on
// how many instances the sides differ and by how much, and how the difference varies between
// repositories.
//
// By repository, it draws comparisons and tests them. With more than 16 repositories the
// distribution of subset sums is taken as normal; by instance everything is.
type Plan struct {
	level   float64
	by      Method
	sizes   []float64 // number of instances by cluster
	n       float64
	sizeOf  []float64 // absolute nonzero differences of single pairs
	mean    float64   // of sizeOf
	squares float64   // mean of their squares
	grain   float64   // the smallest of sizeOf
	between float64   // standard deviation of the clusters' differences
}

// Plan returns a plan from the pairs of a comparison.
func (b Bootstrap) Plan(pairs []Pair) Plan {
	b = b.withDefaults()
	p := Plan{level: b.Level, by: b.method(pairs), n: float64(len(pairs))}
	if len(pairs) == 0 || !b.possible() || !areRates(pairs) {
		return Plan{}
	}
	diffs, clusters := make([]float64, len(pairs)), make([]string, len(pairs))
	for i, pair := range pairs {
		d := pair.B - pair.A
		diffs[i], clusters[i] = d, pair.Cluster
		p.sizeOf = append(p.sizeOf, math.Abs(d))
		p.mean, p.squares = p.mean+math.Abs(d), p.squares+d*d
	}
	// The instances that the test adds count here too: that no pair differs does not mean that none
	// ever will.
	p.grain = byCluster(pairs).grain()
	p.sizeOf = append(p.sizeOf, p.grain)
	p.mean, p.squares = (p.mean+p.grain)/(p.n+1), (p.squares+p.grain*p.grain)/(p.n+1)
	if p.by == ByRepository {
		c, _ := clustered(diffs, clusters)
		p.sizes = c.sizes
		sum := 0.0
		for _, n := range c.sizes {
			sum += n * n / p.n / p.n
		}
		se := c.correctedError()
		p.between = math.Sqrt(max(0, se*se-(p.squares-c.mean*c.mean)/p.n) / sum)
	}
	return p
}

// Power returns the probability that n instances show a difference of rates.
func (p Plan) Power(n int, difference float64) float64 {
	difference = math.Abs(difference)
	if n < 1 || p.n == 0 || !(difference <= 1) {
		return math.NaN()
	}
	// A difference larger than the share of differing instances needs more of them.
	more := 0.0
	if difference > p.mean {
		more = (difference - p.mean) / (1 - p.mean)
	}
	w := planned{Plan: p, difference: difference, more: more}
	w.mean, w.squares = p.mean+more*(1-p.mean), p.squares+more*(1-p.squares)
	if p.by == ByInstance {
		return w.normal(float64(n))
	}
	return w.drawn(float64(n))
}

// planned has the parameters for drawing differences.
type planned struct {
	Plan
	difference, more float64
}

// normal returns the power by Connor's formula (Biometrics 43, 1987).
func (w planned) normal(n float64) float64 {
	if math.Exp2(1-n) > 1-w.level+1e-9 {
		return 0
	}
	z := normalBound(w.level)
	spread := math.Sqrt(max(1e-12, w.squares-w.difference*w.difference))
	return normalBelow((w.difference*math.Sqrt(n) - z*math.Sqrt(w.squares)) / spread)
}

// plans is the number of drawn comparisons.
const plans = 300

func (w planned) drawn(n float64) float64 {
	r := rand.New(rand.NewPCG(1, 2))
	sums, count := make([]float64, len(w.sizes)), 0
	for range plans {
		between := w.between * w.doubt(r)
		for i, size := range w.sizes {
			sums[i] = w.sum(r, between, math.Round(size*n/w.n))
		}
		if w.shown(sums) {
			count++
		}
	}
	return float64(count) / plans
}

// doubt draws a factor for a standard deviation that is estimated from few repositories. It has as
// many degrees of freedom as repositories of equal size would have.
func (w planned) doubt(r *rand.Rand) float64 {
	squares, sum := 0.0, 0.0
	for _, size := range w.sizes {
		squares += size * size / w.n / w.n
	}
	freedom := max(2, math.Round(1/squares))
	for range int(freedom) {
		z := r.NormFloat64()
		sum += z * z
	}
	return math.Sqrt(freedom / sum)
}

// manyDrawn is the number of instances above which their sum is taken as normal.
const manyDrawn = 30

// sum draws the sum of the differences in a cluster of size instances. It always uses the same
// number of random numbers, whatever the difference.
func (w planned) sum(r *rand.Rand, between, size float64) float64 {
	here := max(-w.mean, min(w.mean, w.difference+between*r.NormFloat64()))
	if size > manyDrawn {
		return here*size + math.Sqrt(max(0, w.squares-here*here)*size)*r.NormFloat64()
	}
	sum := 0.0
	for range int(size) {
		d, more, sign := w.sizeOf[r.IntN(len(w.sizeOf))], r.Float64(), r.Float64()
		if more < w.more {
			d = 1
		}
		if sign < (1+here/w.mean)/2 {
			sum += d
		} else {
			sum -= d
		}
	}
	return sum
}

// mostPlanned is the number of clusters up to which all subsets are taken.
const mostPlanned = 16

// shown reports whether the test shows a difference, given the clusters' sums.
func (w planned) shown(sums []float64) bool {
	if len(sums) > mostPlanned {
		sum, squares := 0.0, w.grain*w.grain/2
		for _, s := range sums {
			sum, squares = sum+s, squares+s*s
		}
		return math.Abs(sum) >= math.Sqrt(squares)*normalBound(w.level)
	}
	half := len(sums) / 2
	first, second := subsetSums(sums[:half]), subsetSums(sums[half:])
	const rounding = 1e-9
	below := 0.5
	for _, added := range []float64{-w.grain / 2, 0, 0, w.grain / 2} {
		below += float64(atMost(first, second, -added-rounding)+atMost(first, second, -added+rounding)) / 2
	}
	ranks := 4 * math.Exp2(float64(len(sums)))
	steps := math.Floor(min(below, ranks-below) / 4)
	return 2*(steps+1)*4/ranks <= 1-w.level+1e-9
}

// subsetSums returns the sums of all subsets, sorted.
func subsetSums(values []float64) []float64 {
	sums, with := make([]float64, 1, 1<<len(values)), make([]float64, 0, 1<<len(values))
	for _, v := range values {
		with = with[:0]
		i := 0
		for _, without := range sums { // sums is sorted, and so are the sums with v
			for ; i < len(sums) && sums[i]+v < without; i++ {
				with = append(with, sums[i]+v)
			}
			with = append(with, without)
		}
		for ; i < len(sums); i++ {
			with = append(with, sums[i]+v)
		}
		sums, with = with, sums
	}
	return sums
}

// atMost counts the pairs of sorted values with a sum of at most limit.
func atMost(first, second []float64, limit float64) (n int) {
	j := len(second)
	for _, v := range first {
		for j > 0 && v+second[j-1] > limit {
			j--
		}
		n += j
	}
	return n
}

// Detectable returns the smallest difference that the plan's own number of instances shows with a
// power. It returns false if not even a difference of 1 is shown.
func (p Plan) Detectable(power float64) (difference float64, ok bool) {
	if !(0 < power && power < 1) || !(p.Power(int(p.n), 1) >= power) {
		return 0, false
	}
	low, high := 0.0, 1.0
	for range 12 {
		if mid := (low + high) / 2; p.Power(int(p.n), mid) >= power {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}

// mostNeeded is the number of instances above which [Plan.Needed] gives up.
const mostNeeded = 1_000_000_000

// Needed returns the number of instances of the same repositories that show a difference with a
// power. It returns false for a difference of 0 or more than 1, and if more instances never show
// the difference because it varies too much between too few repositories.
func (p Plan) Needed(difference, power float64) (n int, ok bool) {
	difference = math.Abs(difference)
	if !(0 < difference && 0 < power && power < 1) || !(p.Power(mostNeeded, difference) >= power) {
		return 0, false
	}
	low, high := 0, mostNeeded
	for high-low > max(1, low/1000) {
		mid := (low + high) / 2
		if low > 0 { // by orders of magnitude
			mid = int(math.Sqrt(float64(low) * float64(high)))
		} else if high > 1000 {
			mid = high / 1000
		}
		mid = max(low+1, min(high-1, mid))
		if p.Power(mid, difference) >= power {
			high = mid
		} else {
			low = mid
		}
	}
	return high, true
}

// normalBelow returns the probability that a standard normal variable is at most x.
func normalBelow(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// normalBound returns the z for which a standard normal variable is in -z..z with probability
// level.
func normalBound(level float64) float64 { return math.Sqrt2 * math.Erfinv(level) }
