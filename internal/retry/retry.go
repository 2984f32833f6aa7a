// Package retry says whether and when an operation that has failed is tried again. The loop stays with
// the caller, who knows which errors may pass.
package retry

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Policy limits the tries of an operation and says how long the waits between them are. The mean wait
// grows from First to Longest. A Policy may serve many operations at once.
type Policy struct {
	First   time.Duration // mean of the first wait
	Longest time.Duration // maximum of the mean; 0: First
	Factor  float64       // each mean divided by the one before; 0: 2
	Jitter  float64       // a wait is shorter or longer than its mean, at random, by at most this part of it
	Tries   int           // in total; 0: no limit
	Total   time.Duration // a try that fails later than this is the last one; 0: no limit
}

// Tries counts the tries of one operation. It is not safe for concurrent use.
type Tries struct {
	Failed int // since the start

	policy Policy
	began  time.Time
	waits  backoff.ExponentialBackOff
}

// Start returns the Tries of an operation whose first try begins now.
func (p Policy) Start() *Tries {
	return &Tries{policy: p, began: time.Now(), waits: backoff.ExponentialBackOff{
		InitialInterval: p.First, MaxInterval: cmp.Or(p.Longest, p.First),
		Multiplier: cmp.Or(p.Factor, 2), RandomizationFactor: p.Jitter,
	}}
}

// Restart begins again, as after Start.
func (t *Tries) Restart() { *t = *t.policy.Start() }

// Next counts a failed try. It returns the wait before the next one, which is at least as long as
// asked, and whether the policy permits one. The asked wait counts as part of Total.
func (t *Tries) Next(asked time.Duration) (wait time.Duration, again bool) {
	t.Failed++
	late := t.policy.Total > 0 && asked > t.policy.Total-time.Since(t.began)
	return max(asked, t.waits.NextBackOff()), t.Failed != t.policy.Tries && !late
}

// Wait counts a failed try and waits. It returns false, without a wait, if the policy permits no
// further try, and false as soon as ctx ends.
func (t *Tries) Wait(ctx context.Context) bool {
	wait, again := t.Next(0)
	return again && Sleep(ctx, wait) == nil
}

// After returns the wait that a server asks for in the header Retry-After; 0 if it does not.
func After(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseUint(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(n, math.MaxInt32)) * time.Second
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}

// Sleep waits for d. It returns the error of ctx if ctx ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
