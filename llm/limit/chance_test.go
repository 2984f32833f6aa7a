package limit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/llm/limit"
)

// A router refuses a part of all requests, however few they are, when one of the
// providers behind it is overloaded: a lower rate does not help then, and must not be learned.
func TestRefusalsByChanceDoNotStopARun(t *testing.T) {
	for says, name := range []string{"nothing", "Retry-After", "headers"} {
		for _, share := range []float64{0.03, 0.1, 0.15, 0.2, 0.3, 0.5} {
			t.Run(fmt.Sprintf("%v of all, it says %s", share, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					random := rand.New(rand.NewPCG(1, 2))
					p := &provider{
						meter: func() meter { return &bucket{size: 1e6, rate: 1e6} }, says: says, limit: 60_000,
						unlucky: func() bool { return random.Float64() < share },
					}
					m := llm.Calls{Gate: limit.New(limit.Limits{})}.Compose(newModel(p.serve(), "key"))
					s := sweep{conversations: 64, steps: 20, workers: 16}
					took, _ := s.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 0) })
					const mean = 1.6 // seconds of a call
					least := time.Duration(float64(s.conversations*s.steps) / float64(s.workers) * mean * float64(time.Second))
					t.Logf("%v, at least %v, %d refused", took.Round(time.Second), least, p.refused)
					times := time.Duration(8)
					if share > 0.2 { // pauses, after two in a row
						times = 16
					}
					if took > times*least {
						t.Errorf("it took %v, want at most %d times %v", took, times, least)
					}
				})
			})
		}
	}
}
