package stub

import (
	"math"
	"net/http"
	"sync"
	"time"

	"batch.example/batch/llm"
)

// Limits bound the use of a key. The zero value has no limit. The clock is that of package time, so that it
// works in a synctest bubble.
type Limits struct {
	RPM   int // requests a minute
	TPM   int // tokens a minute, counted as a quarter of the request's bytes
	Burst int // requests that may come at once after a pause; 0 = RPM/60, at least 1

	// In every period Every, all requests are refused for the first Refuse, as if others used the same
	// limits.
	Every, Refuse time.Duration
}

// Counts are the numbers of requests so far.
type Counts struct {
	Accepted int // answered as Next says
	Refused  int // refused by Limits
	Illegal  int // against the provider's rules
}

// meter holds the limits of each key.
type meter struct {
	mu      sync.Mutex
	began   time.Time
	buckets map[string]*[2]bucket // requests, tokens
}

// bucket is a token bucket.
type bucket struct {
	size, perSecond, left float64
	at                    time.Time
}

func newBucket(perMinute int, burst float64, now time.Time) bucket {
	b := bucket{size: burst, perSecond: float64(perMinute) / 60, at: now}
	b.left = b.size
	return b
}

// fill adds what has come since.
func (b *bucket) fill(now time.Time) {
	b.left = min(b.size, b.left+now.Sub(b.at).Seconds()*b.perSecond)
	b.at = now
}

// wait returns the time until n can be taken; it is never negative.
func (b *bucket) wait(n float64) time.Duration {
	if b.perSecond == 0 || b.left >= min(n, b.size)-1e-9 {
		return 0
	}
	return time.Duration(math.Ceil((min(n, b.size) - b.left) / b.perSecond * float64(time.Second)))
}

func (b *bucket) window() llm.Window {
	if b.perSecond == 0 {
		return llm.Window{}
	}
	return llm.Window{
		Limit: int64(math.Round(b.perSecond * 60)), Remaining: int64(max(0, b.left)),
		Reset: time.Duration((b.size - b.left) / b.perSecond * float64(time.Second)),
	}
}

// admit takes the request from its key's limits. A positive wait means that it is refused, and may come again
// after the wait.
func (m *meter) admit(l Limits, key string, size int) (rate llm.Rate, wait time.Duration) {
	if l == (Limits{}) {
		return rate, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.buckets == nil {
		m.began, m.buckets = now, map[string]*[2]bucket{}
	}
	b := m.buckets[key]
	if b == nil {
		burst := float64(l.Burst)
		if burst == 0 {
			burst = max(1, float64(l.RPM)/60)
		}
		b = &[2]bucket{newBucket(l.RPM, burst, now), newBucket(l.TPM, float64(l.TPM), now)}
		m.buckets[key] = b
	}
	tokens := float64(size) / 4
	b[0].fill(now)
	b[1].fill(now)
	wait = max(b[0].wait(1), b[1].wait(tokens))
	if l.Every > 0 {
		if in := now.Sub(m.began) % l.Every; in < l.Refuse {
			wait = max(wait, l.Refuse-in)
		}
	}
	if wait == 0 {
		b[0].left--
		b[1].left -= tokens
	}
	return llm.Rate{Requests: b[0].window(), Tokens: b[1].window()}, wait
}

// keyOf returns the key of a request.
func keyOf(r *http.Request) string {
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Authorization"} {
		if key := r.Header.Get(name); key != "" {
			return key
		}
	}
	return r.URL.Query().Get("key")
}

// tooMany returns the refusal of a request above the limits.
func tooMany(p Protocol, wait time.Duration) Answer {
	a := Answer{Status: http.StatusTooManyRequests, RetryAfter: wait}
	switch p {
	case Chat, Responses:
		a.RetryForm = InMillis
	case Gemini:
		a.RetryForm = InBody
	}
	return a
}
