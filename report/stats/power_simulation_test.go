//go:build !race

package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// If a comparison says that it would show a certain difference with a power of 0.8, about four of
// five comparisons with this difference and the same instances show it.
func TestPowerSimulated(t *testing.T) {
	t.Parallel()
	var all []scenario
	for _, n := range []int{30, 100, 500} {
		for _, repos := range []int{1, 7, 8, 12, 30} {
			for _, attempts := range []int{1, 3} {
				for _, e := range [][2]float64{{0.2, 0}, {0.2, 0.06}, {0.4, 0.03}} {
					if repos > 1 || e[1] == 0 && n < 500 {
						all = append(all, scenario{n: n, repos: repos, attempts: attempts, discordant: e[0], between: e[1]})
					}
				}
			}
		}
	}
	chosen := cellsOf(t, 1, len(all))
	for i, s := range all {
		// McNemar's power is 43 to 59 % there.
		if telling := s == (scenario{500, 12, 1, 0, 0.2, 0.06}); !telling && !slices.Contains(chosen, i) {
			continue
		}
		draws, slack := 300, 0.0
		if !study() { // fewer draws show less
			draws, slack = 120, 0.06
		}
		r, better, none, mean := rand.New(rand.NewPCG(uint64(i), 29)), 0, 0, 0.0
		for range draws {
			places := s.places(r)
			d, ok := s.bootstrap().Plan(s.pairsAt(r, places)).Detectable(0.8)
			if !ok {
				none++
				continue
			}
			other := s
			other.difference = d * s.truthOf()
			other.discordant = max(s.discordant, min(1, other.difference))
			mean += d
			if s.bootstrap().Shows(s.bootstrap().RateDifference(other.pairsAt(r, places)).P) {
				better++
			}
		}
		share := float64(better) / float64(draws-none)
		t.Logf("seed %3d: %v: at the printed difference, %.3f on average, %.1f %% show it; %d of %d print none", i, s, mean/float64(draws-none), 100*share, none, draws)
		least, most := 0.7, 0.9
		if s.n < 100 { // so few instances say little about how often the sides differ
			least, most = 0.65, 0.93
		}
		if share < least-slack || share > most+slack {
			t.Errorf("seed %d: %v: the power is %.3f, want %v to %v", i, s, share, least, most)
		}
	}
}

// truthOf returns the factor that makes a difference the scenario's.
func (s scenario) truthOf() float64 {
	if s.attempts > 1 {
		return 1 / 0.8
	}
	return 1
}
