package images

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distribution/reference"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/internal/daemon"
)

var errLimit = errors.New("toomanyrequests: slow down")

// puller returns a store that can only pace its pulls.
func puller(slots int64) *Store {
	return &Store{
		slots: semaphore.NewWeighted(slots), gates: map[string]*gate{}, pace: defaultPace,
		engine: &daemon.Conn{Log: slog.New(slog.DiscardHandler)},
	}
}

func named(t *testing.T, ref string) reference.Named {
	t.Helper()
	n, err := normal(ref)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestARateLimitDelaysOnlyThatRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, start := puller(4), time.Now()
		limited := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			n := 0
			if err := e.downloadWithRetries(t.Context(), named(t, "one.example/a"), func(context.Context) error {
				if n++; n == 1 {
					close(limited)
					return errors.New("toomanyrequests: retry after 40 seconds")
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if waited := time.Since(start); waited < 40*time.Second || waited > 46*time.Second {
				t.Errorf("continued after %v, want at least %v, at most %v", waited, 40*time.Second, 46*time.Second)
			}
		})
		<-limited
		synctest.Wait()
		for ref, atOnce := range map[string]bool{"one.example/b": false, "two.example/a": true} {
			wg.Go(func() {
				if err := e.downloadWithRetries(t.Context(), named(t, ref), func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
				if waited := time.Since(start); (waited < 40*time.Second) != atOnce {
					t.Errorf("%s: began after %v; want less than 40s: %v", ref, waited, atOnce)
				}
			})
		}
		wg.Wait()
	})
}

func TestAPullGivesUpOnAPersistentRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, start, n := puller(1), time.Now(), 0
		err := e.downloadWithRetries(t.Context(), named(t, "one.example/a"), func(context.Context) error { n++; return errLimit })
		if !errors.Is(err, errLimit) || n != defaultPace.limits {
			t.Errorf("got %d downloads, then %v; want error %v, %v", n, err, errLimit, defaultPace.limits)
		}
		if took := time.Since(start); took < 2*time.Minute || took > 10*time.Minute {
			t.Errorf("gave up after %v, want at least %v, at most %v", took, 2*time.Minute, 10*time.Minute)
		}
		// A rate limit longer than the maximum wait ends all pulls from the registry at once.
		far := errors.New("toomanyrequests: retry-after: 6h")
		e, start = puller(1), time.Now()
		for range 2 {
			if err := e.downloadWithRetries(t.Context(), named(t, "one.example/a"), func(context.Context) error { return far }); !errors.Is(err, far) {
				t.Errorf("error %v", err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("gave up after %v, want at most 0", took)
		}
	})
}

func TestRateLimitsOfConcurrentPullsCountOnce(t *testing.T) {
	first := defaultPace.limited
	for name, c := range map[string]struct {
		served      int // the round of the last success; 0: none
		least, most time.Duration
	}{
		"no success":     {0, 2 * first, 4 * first},
		"a late success": {1, 2 * first, 4 * first}, // the pull began before the new rate limit
		"a success":      {2, 0, first},
	} {
		g := &gate{waits: waits(first, defaultPace.longest, 0)}
		for range 4 {
			g.shut(0, errLimit)
		}
		if wait := time.Until(g.until); wait > first {
			t.Errorf("%s: shut for %v, want at most %v", name, wait, first)
		}
		if wait := g.shut(1, errLimit); wait > 2*first {
			t.Errorf("%s: then for %v, want at most %v", name, wait, 2*first)
		}
		if c.served > 0 {
			g.served(c.served)
		}
		g.until = time.Time{}
		if wait := g.shut(2, errLimit); wait < c.least-time.Second || wait > c.most {
			t.Errorf("%s: then for %v, want at least %v, at most %v", name, wait, c.least-time.Second, c.most)
		}
	}
}

func TestTransientPullErrorsAreRetriedSoon(t *testing.T) {
	for text, tries := range map[string]int{
		"received unexpected HTTP status: 503 Service Unavailable": defaultPace.tries,
		"dial tcp 10.0.0.1:443: connect: connection refused":       defaultPace.tries,
		"unauthorized: authentication required":                    1,
		"manifest unknown: manifest unknown":                       1,
		"write /var/lib/docker/x: no space left on device":         1,
	} {
		synctest.Test(t, func(t *testing.T) {
			start, n := time.Now(), 0
			err := puller(1).downloadWithRetries(t.Context(), named(t, "one.example/a"), func(context.Context) error {
				n++
				return errors.New(text)
			})
			if err == nil || err.Error() != text || n != tries {
				t.Errorf("%s: got %d downloads, then %v; want an error, error %v, %v", text, n, err, text, tries)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("%s: gave up after %v, want at most %v", text, took, 10*time.Second)
			}
		})
	}
}

func TestAWaitForARegistryEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := puller(1)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := e.downloadWithRetries(ctx, named(t, "one.example/a"), func(context.Context) error { return errLimit })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if !e.slots.TryAcquire(1) {
			t.Error("the pull slot is still in use")
		}
	})
}

func TestRetryAfterIsReadFromText(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"toomanyrequests: retry-after: 342.5ms, allowed: 44000/minute": 342500 * time.Microsecond,
		"Retry-After: 120":                               2 * time.Minute,
		"too many requests, try again in 5 minutes":      5 * time.Minute,
		"Too many requests. Retry after 30 seconds":      30 * time.Second,
		"retry in 1h":                                    time.Hour,
		"toomanyrequests: You have reached your limit 5": 0,
		"retry after 99999999999999999999":               0,
	} {
		if got, said := retryAfter(text); got != want || said != (want > 0) {
			t.Errorf("%s: got %v, %v; want %v, the output %v", text, got, said, want, (want > 0))
		}
	}
}
