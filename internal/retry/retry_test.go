package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/internal/retry"
)

func TestAPolicyLimitsTriesAndWaits(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		policy retry.Policy
		asked  time.Duration
		waits  []time.Duration
	}{
		"one try":     {retry.Policy{First: s, Tries: 1}, 0, nil},
		"equal waits": {retry.Policy{First: 3 * s, Tries: 4}, 0, []time.Duration{3 * s, 3 * s, 3 * s}},
		"doubled":     {retry.Policy{First: s, Longest: 5 * s, Tries: 5}, 0, []time.Duration{s, 2 * s, 4 * s, 5 * s}},
		"tripled":     {retry.Policy{First: s, Longest: 60 * s, Factor: 3, Tries: 4}, 0, []time.Duration{s, 3 * s, 9 * s}},
		"asked for":   {retry.Policy{First: s, Longest: 60 * s, Tries: 4}, 3 * s, []time.Duration{3 * s, 3 * s, 4 * s}},
		"for a time":  {retry.Policy{First: 3 * s, Total: 9 * s}, 0, []time.Duration{3 * s, 3 * s, 3 * s}},
		"not in time": {retry.Policy{First: s, Total: 9 * s}, 5 * s, []time.Duration{5 * s}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := c.policy.Start()
				for range 2 { // the second time after a restart
					var waits []time.Duration
					for {
						time.Sleep(s) // the try
						wait, again := tries.Next(c.asked)
						if !again {
							break
						}
						waits = append(waits, wait)
						time.Sleep(wait)
					}
					if !slices.Equal(waits, c.waits) || tries.Failed != len(waits)+1 {
						t.Errorf("waits of %v and %d failed tries, want %v", waits, tries.Failed, c.waits)
					}
					tries.Restart()
				}
			})
		})
	}
}

func TestWaitsAreDrawnAroundTheirMean(t *testing.T) {
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		wait, again := retry.Policy{First: time.Second, Jitter: .5}.Start().Next(0)
		if !again {
			t.Fatal("no second try, want no limit")
		}
		least, most = min(least, wait), max(most, wait)
	}
	if least < time.Second/2 || least > 3*time.Second/4 || most > 3*time.Second/2+1 || most < 5*time.Second/4 {
		t.Errorf("waits from %v to %v, want 0.5 s to 1.5 s", least, most)
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		began, tries := time.Now(), retry.Policy{First: time.Minute, Tries: 9}.Start()
		if first, second := tries.Wait(ctx), tries.Wait(ctx); !first || second || time.Since(began) != 90*time.Second {
			t.Errorf("waits end with %v and %v after %v, want true, false, 90 s", first, second, time.Since(began))
		}
		for _, d := range []time.Duration{-1, 0, time.Hour} {
			if err := retry.Sleep(ctx, d); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 90*time.Second {
				t.Errorf("a sleep of %v after the end: error %v, %v", d, err, time.Since(began))
			}
		}
		last := retry.Policy{First: time.Minute, Tries: 1}.Start()
		if last.Wait(t.Context()) || time.Since(began) != 90*time.Second {
			t.Error("a wait after the last try")
		}
	})
}
