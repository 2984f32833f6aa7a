package limit_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/llm/limit"
)

// A low limit is reached by a few workers, too.
func TestALowLimitIsLearnedByFewWorkers(t *testing.T) {
	for says, name := range []string{"nothing", "Retry-After"} {
		for _, perMinute := range []float64{10, 60} {
			t.Run(fmt.Sprintf("%v a minute, it says %s", perMinute, name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := &provider{
						meter: func() meter { return &bucket{size: 1, rate: perMinute / 60} }, says: says,
						latency: func(string) float64 { return 0.5 },
					}
					m := llm.Calls{Gate: limit.New(limit.Limits{})}.Compose(newModel(p.serve(), "key"))
					took, _ := sweep{6, 50, 3}.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 0) })
					least := time.Duration(300 / perMinute * float64(time.Minute))
					t.Logf("%v, at least %v, %d refused", took.Round(time.Second), least, p.refused)
					if took > least*5/4 || p.refused > 75 {
						t.Errorf("it took %v, %d of 300 refused; want at most %v, 75", took, p.refused, least*5/4)
					}
				})
			})
		}
	}
}
