//go:build !race

package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	sampled "batch.example/batch/internal/sample"
)

// The simulations take ten times longer under the race detector, which has nothing to find: they
// share nothing.

// simulated is the number of data sets for a cell. All are seeded: a cell gives the same result
// each time.
const simulated = 2000

// study reports whether all cells are simulated, which takes two hours.
func study() bool { return os.Getenv("BATCH_SIMULATIONS") == "all" }

// cellsOf chooses k of n cells by the seed in `make test`, five times as many elsewhere, and all in a [study].
func cellsOf(t *testing.T, k, n int) []int {
	t.Helper()
	order := sampled.Rand(t).Perm(n)
	switch {
	case study():
		k = n
	case !testing.Short():
		k = min(n, 5*k)
	}
	t.Logf("sampled %d of %d", k, n)
	return order[:k]
}

// bootstrap takes all subsets of up to twelve repositories, as for users, and fewer draws for more
// repositories.
func (s scenario) bootstrap() Bootstrap {
	if s.repos == 12 {
		return Bootstrap{Draws: 1 << 12}
	}
	return Bootstrap{Draws: 1 << 10}
}

// truth returns the difference of the expected rates.
func (s scenario) truth() float64 {
	if s.attempts > 1 {
		return 0.8 * s.difference
	}
	return s.difference
}

// cell is a scenario with the coverage that the package's documentation claims.
type cell struct {
	scenario
	least, most float64
}

// cells returns all scenarios.
func cells() []cell {
	var all []cell
	for _, n := range []int{30, 50, 100, 500} {
		for _, repos := range []int{1, 3, 6, 7, 8, 12, 30} {
			for _, attempts := range []int{1, 3} {
				for _, e := range [][3]float64{{0, 0.2, 0}, {0, 0.2, 0.06}, {0.1, 0.2, 0}, {0.3, 0.4, 0.1}, {0.5, 0.6, 0.1}} {
					s := scenario{n, repos, attempts, e[0], e[1], e[2]}
					if repos < 6 && (s.between > 0 || n == 500) {
						continue // by instance, the interval does not cover other repositories
					}
					all = append(all, cell{s, 0.93, s.mostClaimed()})
				}
			}
		}
	}
	return all
}

// mostClaimed returns 0.97, or 1 if there are so few sums that the interval must be wider: six to
// eight repositories have few subsets, and few instances of a repository few sums.
func (s scenario) mostClaimed() float64 {
	if s.repos < 6 || s.repos >= 12 && s.n >= 100 {
		return 0.97
	}
	return 1
}

func TestRateDifferenceSimulated(t *testing.T) {
	t.Parallel()
	all := cells()
	chosen := cellsOf(t, 1, len(all))
	for i, c := range all {
		// In the first one, an interval that takes instances as independent covers 69 %. The second
		// has few instances and strong effects.
		telling := c.scenario == scenario{500, 12, 1, 0, 0.2, 0.06} || c.scenario == scenario{50, 8, 1, 0.3, 0.4, 0.1}
		if !telling && !slices.Contains(chosen, i) {
			continue
		}
		covered, better, width := 0, 0, 0.0
		r := rand.New(rand.NewPCG(uint64(i), 27))
		for range simulated {
			got := c.bootstrap().RateDifference(c.pairs(r))
			if got.Interval.Contains(c.truth()) {
				covered++
			}
			if c.bootstrap().Shows(got.P) {
				better++
			}
			width += (got.Interval.High - got.Interval.Low) / simulated
		}
		share, shown := float64(covered)/simulated, float64(better)/simulated
		t.Logf("seed %3d: %v: covers %.1f %%, better or worse %.1f %%, width %.3f", i, c.scenario, 100*share, 100*shown, width)
		if share < c.least || share > c.most {
			t.Errorf("seed %d: %v: covers %.3f, want %v to %v", i, c.scenario, share, c.least, c.most)
		}
		if c.difference == 0 && shown > 0.06 {
			t.Errorf("seed %d: %v: better or worse in %.3f without a difference", i, c.scenario, shown)
		}
	}
}

// rateScenario is one model with a true rate; a repository's rate deviates from it by the
// scenario's standard deviation. With several attempts, seven of ten instances are always resolved
// or never.
type rateScenario struct {
	scenario
	rate float64
}

func (s rateScenario) String() string {
	return fmt.Sprintf("n %3d, %2d repositories, %d attempts, rate %.2f, between %.2f", s.n, s.repos, s.attempts, s.rate, s.between)
}

func (s rateScenario) values(r *rand.Rand) (values []float64, clusters []string) {
	here := s.spread(r, s.rate)
	for _, repo := range s.places(r) {
		chance := here[repo]
		if s.attempts > 1 && r.Float64() < 0.7 {
			chance = attempted(r, chance, 1)
		}
		values, clusters = append(values, attempted(r, chance, s.attempts)), append(clusters, strconv.Itoa(repo))
	}
	return values, clusters
}

func TestRateSimulated(t *testing.T) {
	t.Parallel()
	var all []rateScenario
	for _, n := range []int{30, 50, 100, 500} {
		for _, repos := range []int{1, 3, 6, 7, 8, 12, 30} {
			for _, attempts := range []int{1, 3} {
				for _, e := range [][2]float64{{0.5, 0}, {0.5, 0.15}, {0.25, 0.1}, {0.1, 0.04}, {0.8, 0.1}} {
					s := rateScenario{scenario{n: n, repos: repos, attempts: attempts, between: e[1]}, e[0]}
					if repos < 6 {
						s.between = 0
					}
					if repos >= 6 || n < 500 && e[1] != 0.15 {
						all = append(all, s)
					}
				}
			}
		}
	}
	chosen := cellsOf(t, 1, len(all))
	for i, s := range all {
		// Wilson's interval covers 52 to 71 % there.
		telling := s.n == 500 && s.repos == 12 && s.attempts == 1 && s.between == 0.15
		if !telling && !slices.Contains(chosen, i) {
			continue
		}
		covered, width := 0, 0.0
		r := rand.New(rand.NewPCG(uint64(i), 28))
		for range simulated {
			in, _ := s.bootstrap().Rate(s.values(r))
			if in.Contains(s.rate) {
				covered++
			}
			width += (in.High - in.Low) / simulated
		}
		share := float64(covered) / simulated
		t.Logf("seed %3d: %v: covers %.1f %%, width %.3f", i, s, 100*share, width)
		least, most := s.claimed()
		if share < least || share > most {
			t.Errorf("seed %d: %v: covers %.3f, want %v to %v", i, s, share, least, most)
		}
	}
}

// claimed returns 0.93 to 0.97, except where few sums are possible. With so many draws, the
// coverage is uncertain by half a point.
func (s rateScenario) claimed() (least, most float64) {
	switch {
	case s.n < 100:
		return 0.92, 1
	case 6 <= s.repos && s.repos <= 8:
		return 0.925, 1
	}
	return 0.925, 0.97
}

// runs draws the results of equal models: each instance has its difficulty, and each model deviates
// from it by repository. The difference of two models has the scenario's standard deviation.
func (s scenario) runs(r *rand.Rand, models int) (values [][]float64, clusters []string) {
	own := s
	own.between /= math.Sqrt2
	here := make([][]float64, models)
	for m := range here {
		here[m] = own.spread(r, 0)
	}
	values = make([][]float64, models)
	for _, repo := range s.places(r) {
		clusters = append(clusters, strconv.Itoa(repo))
		chance := []float64{0.1, 0.3, 0.7, 0.9}[r.IntN(4)]
		for m := range values {
			values[m] = append(values[m], attempted(r, max(0, min(1, chance+here[m][repo])), s.attempts))
		}
	}
	return values, clusters
}

// Among equal models, the correction limits the probability that any pair differs.
func TestSeveralRunsSimulated(t *testing.T) {
	t.Parallel()
	type several struct {
		scenario
		models int
	}
	var all []several
	for _, models := range []int{3, 5} {
		for _, n := range []int{30, 100, 500} {
			for _, repos := range []int{1, 6, 8, 12, 30} {
				for _, attempts := range []int{1, 3} {
					for _, between := range []float64{0, 0.06} {
						if repos > 1 || between == 0 && n < 500 {
							all = append(all, several{scenario{n: n, repos: repos, attempts: attempts, between: between}, models})
						}
					}
				}
			}
		}
	}
	chosen := cellsOf(t, 1, len(all))
	for i, c := range all {
		// Without a correction, 13 to 24 % of such data sets have a pair that differs. The second
		// has too few repositories for Holm's.
		telling := c == several{scenario{n: 100, repos: 30, attempts: 1, between: 0.06}, 5} || c == several{scenario{n: 30, repos: 6, attempts: 1, between: 0.06}, 5}
		if !telling && !slices.Contains(chosen, i) {
			continue
		}
		draws, most := 2000, 0.06
		if !study() { // fewer draws show less
			draws, most = 400, 0.09
		}
		r, corrected, not := rand.New(rand.NewPCG(uint64(i), 30)), 0, 0
		for range draws {
			p, decides := c.everyP(c.runs(r, c.models))
			if c.bootstrap().Shows(slices.Min(p)) {
				not++
			}
			if c.bootstrap().Shows(slices.Min(decides)) {
				corrected++
			}
		}
		share := float64(corrected) / float64(draws)
		t.Logf("seed %3d: %d equal models, n %3d, %2d repositories, %d attempts, between %.2f: some pair differs in %.1f %%, without a correction %.1f %%",
			i, c.models, c.n, c.repos, c.attempts, c.between, 100*share, 100*float64(not)/float64(draws))
		if share > most {
			t.Errorf("seed %d: %+v: some pair differs in %.3f, want at most %v", i, c, share, most)
		}
	}
}

// everyP returns the p values of all pairs of models, and the corrected ones.
func (s scenario) everyP(values [][]float64, clusters []string) (list, decides []float64) {
	var comparisons [][]Pair
	var alone []RateTest
	for a := range values {
		for b := a + 1; b < len(values); b++ {
			pairs := make([]Pair, len(clusters))
			for i, cluster := range clusters {
				pairs[i] = Pair{cluster, values[a][i], values[b][i]}
			}
			test := s.bootstrap().RateDifference(pairs)
			if comparisons, alone, list = append(comparisons, pairs), append(alone, test), append(list, test.P); test.Method == ByInstance {
				for i := range pairs {
					pairs[i].Cluster = strconv.Itoa(i)
				}
			}
		}
	}
	if few, ok := s.bootstrap().WestfallYoung(comparisons, alone); ok {
		return list, few
	}
	return list, Holm(list)
}

// So few repositories that Holm's correction leaves nothing tell entries apart that resolve nothing,
// half and all of the instances; of those between, no two that are equal.
func TestFewRepositoriesShowWhatIsPlain(t *testing.T) {
	for _, s := range []scenario{{n: 225, repos: 6}, {n: 30, repos: 6}, {n: 30, repos: 7}, {n: 7, repos: 1}} {
		for _, between := range []int{1, 3, 8} {
			r := rand.New(rand.NewPCG(1, uint64(between)))
			apart, draws := 0, 20
			for range draws {
				values := make([][]float64, between+2)
				var clusters []string
				for _, repo := range s.places(r) {
					clusters = append(clusters, strconv.Itoa(repo))
					values[0], values[1] = append(values[0], 0), append(values[1], 1)
					for m := range between {
						values[m+2] = append(values[m+2], attempted(r, 0.5, 1))
					}
				}
				if _, p := s.everyP(values, clusters); s.bootstrap().Shows(p[0]) {
					apart++
				}
			}
			if apart < draws {
				t.Errorf("%v: nothing and all are told apart in %d of %d sets with %d entries between", s, apart, draws, between)
			}
		}
	}
}
