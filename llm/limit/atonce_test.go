package limit_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/llm/limit"
)

// Some providers refuse a call while they answer too many others, at whatever rate. That is
// learned as the rate at which there are not too many.
func TestALimitOfCallsAtOnceIsLearned(t *testing.T) {
	const atOnce, mean = 8, 3.2 // seconds of an answer
	for _, given := range []int64{0, 6000} {
		for said, says := range map[string]int{"nothing": saysNothing, "Retry-After": saysRetryAfter} {
			t.Run(fmt.Sprintf("%d a minute given, it says %s", given, said), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := &provider{
						meter: func() meter { return &bucket{size: 1e6, rate: 1e6} }, says: says, atOnce: atOnce,
						latency: func(id string) float64 { return 2 * delay(id) },
					}
					client := p.serve()
					m := llm.Calls{Gate: limit.New(limit.Limits{Requests: given})}.Compose(newModel(client, "key"))
					took, _ := sweep{32, 30, 32}.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 0) })
					least := time.Duration(32 * 30 * mean / atOnce * float64(time.Second))
					t.Logf("%v, at least %v, %d of 960 refused", took.Round(time.Second), least, p.refused)
					if took > least*7/4 || p.refused > 96 {
						t.Errorf("it took %v, %d refused; want at most %v, 10 %%", took, p.refused, least*7/4)
					}
				})
			})
		}
	}
}
