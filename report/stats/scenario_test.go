package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// verified has the sizes of the twelve repositories of SWE-bench Verified.
var verified = []int{231, 75, 44, 34, 32, 22, 22, 19, 10, 8, 2, 1}

// scenario is a benchmark with two models: n instances drawn from the first repositories of
// SWE-bench Verified, or from as many of equal size if there are more than twelve. The rates differ
// by a true difference; a repository's difference deviates from it by a standard deviation. On a
// share of the instances the models differ. With several attempts, an instance on which they differ
// is resolved with a probability of 0.9 against 0.1, and some others with a probability of 0.5 by
// both.
type scenario struct {
	n, repos, attempts              int
	difference, discordant, between float64
}

func (s scenario) String() string {
	return fmt.Sprintf("n %3d, %2d repositories, %d attempts, difference %.3f of %.2f that differ, between %.2f",
		s.n, s.repos, s.attempts, s.difference, s.discordant, s.between)
}

// places draws the repositories of n instances without replacement.
func (s scenario) places(r *rand.Rand) []int {
	var all []int
	for i := range s.repos {
		size := s.n/s.repos + 1
		if s.repos <= len(verified) {
			of := 0
			for _, v := range verified[:s.repos] {
				of += v
			}
			size = verified[i] * ((s.n-1)/of + 1)
		}
		for range size {
			all = append(all, i)
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:s.n]
}

// spread draws the repositories' own values around a mean.
func (s scenario) spread(r *rand.Rand, mean float64) []float64 {
	here := make([]float64, s.repos)
	for i := range here {
		here[i] = mean + s.between*math.Sqrt(3)*(2*r.Float64()-1)
	}
	return here
}

func (s scenario) pairs(r *rand.Rand) []Pair { return s.pairsAt(r, s.places(r)) }

// pairsAt draws results at instances of these repositories.
func (s scenario) pairsAt(r *rand.Rand, places []int) []Pair {
	here := s.spread(r, s.difference)
	pairs := make([]Pair, s.n)
	for i, repo := range places {
		pairs[i].Cluster = strconv.Itoa(repo)
		better := max(-s.discordant, min(s.discordant, here[repo]))
		switch u := r.Float64(); {
		case u < (s.discordant+better)/2:
			pairs[i].B = 1
		case u < s.discordant:
			pairs[i].A = 1
		}
		if s.attempts > 1 {
			a, b := 0.1+0.8*pairs[i].A, 0.1+0.8*pairs[i].B
			if pairs[i].A == pairs[i].B {
				a = []float64{0, 0.5, 1}[r.IntN(3)]
				b = a
			}
			pairs[i].A, pairs[i].B = attempted(r, a, s.attempts), attempted(r, b, s.attempts)
		}
	}
	return pairs
}

// attempted returns the mean of attempts that are resolved with a probability.
func attempted(r *rand.Rand, chance float64, attempts int) (mean float64) {
	for range attempts {
		if r.Float64() < chance {
			mean += 1 / float64(attempts)
		}
	}
	return mean
}
