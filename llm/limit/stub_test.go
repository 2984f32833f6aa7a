package limit_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/vocab"
)

// meter is a provider's way to count.
type meter interface {
	take(now time.Time, n float64) bool
	left(now time.Time) float64
	free(now time.Time) time.Duration // until another request is admitted
	full(now time.Time) time.Duration // until everything is free again
}

// bucket holds up to size, and is filled at rate per second.
type bucket struct {
	size, rate, level float64
	at                time.Time
}

func (b *bucket) take(now time.Time, n float64) bool {
	if b.at.IsZero() {
		b.at, b.level = now, b.size
	}
	b.level, b.at = min(b.size, b.level+now.Sub(b.at).Seconds()*b.rate), now
	if b.level < n-1e-9 {
		return false
	}
	b.level -= n
	return true
}

func (b *bucket) left(now time.Time) float64 { b.take(now, 0); return math.Floor(b.level) }

func (b *bucket) free(now time.Time) time.Duration {
	b.take(now, 0)
	return time.Duration(max(0, 1-b.level) / b.rate * float64(time.Second))
}

func (b *bucket) full(now time.Time) time.Duration {
	b.take(now, 0)
	return time.Duration((b.size - b.level) / b.rate * float64(time.Second))
}

// window admits limit in every minute that ends now.
type window struct {
	limit float64
	used  []struct {
		at time.Time
		n  float64
	}
}

func (w *window) take(now time.Time, n float64) bool {
	if w.left(now) < n {
		return false
	}
	w.used = append(w.used, struct {
		at time.Time
		n  float64
	}{now, n})
	return true
}

func (w *window) left(now time.Time) float64 {
	for len(w.used) > 0 && now.Sub(w.used[0].at) >= time.Minute {
		w.used = w.used[1:]
	}
	left := w.limit
	for _, u := range w.used {
		left -= u.n
	}
	return left
}

func (w *window) free(now time.Time) time.Duration {
	if w.left(now) >= 1 {
		return 0
	}
	return w.used[0].at.Add(time.Minute).Sub(now)
}

func (w *window) full(now time.Time) time.Duration {
	w.left(now)
	if len(w.used) == 0 {
		return 0
	}
	return w.used[len(w.used)-1].at.Add(time.Minute).Sub(now)
}

// The provider's reports about its limit.
const (
	saysNothing = iota
	saysRetryAfter
	saysHeaders // and Retry-After
)

// provider is an HTTP handler that enforces a limit on each key.
type provider struct {
	meter   func() meter
	tokens  func() meter // nil: no limit
	says    int
	limit   int                     // requests per minute in its headers
	outages []time.Duration         // begin and end of each, since its start
	latency func(id string) float64 // seconds; nil for 0.2 to 3 s by the id
	atOnce  int                     // calls that may be served at once; 0 is no limit
	unlucky func() bool             // whether a request is refused at random; nil for none

	mu               sync.Mutex
	began            time.Time
	keys             map[string]*account
	serving          int
	answers, refused int
}

type account struct{ requests, tokens meter }

// delay returns the same delay for the same call in every run.
func delay(id string) float64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id)
	return 0.2 + 2.8*rand.New(rand.NewPCG(h.Sum64(), 1)).Float64()
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	id, size, _ := strings.Cut(string(body), " ")
	tokens, _ := strconv.ParseFloat(size, 64)
	ok := p.admit(w.Header(), r.Header.Get("Authorization"), tokens)
	if !ok {
		time.Sleep(20*time.Millisecond + rand.N(60*time.Millisecond))
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`)
		return
	}
	seconds := delay(id)
	if p.latency != nil {
		seconds = p.latency(id)
	}
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	p.mu.Lock()
	p.serving--
	p.mu.Unlock()
	_, _ = io.WriteString(w, size)
}

func (p *provider) admit(h http.Header, key string, tokens float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	a := p.keys[key]
	if a == nil {
		a = &account{requests: p.meter()}
		if p.tokens != nil {
			a.tokens = p.tokens()
		}
		p.keys[key] = a
	}
	after, out := time.Duration(0), false
	for i := 0; i+1 < len(p.outages); i += 2 {
		if since := now.Sub(p.began); since >= p.outages[i] && since < p.outages[i+1] {
			after, out = p.outages[i+1]-since, true
		}
	}
	ok := !out && (p.unlucky == nil || !p.unlucky()) && (p.atOnce == 0 || p.serving < p.atOnce) && (a.tokens == nil || a.tokens.left(now) >= min(tokens, 1)) && a.requests.take(now, 1)
	if ok && a.tokens != nil && !a.tokens.take(now, tokens) {
		ok = false
	}
	if p.says == saysHeaders {
		h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(p.limit))
		h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(int(max(0, a.requests.left(now)))))
		h.Set("X-Ratelimit-Reset-Requests", a.requests.full(now).Round(time.Millisecond).String())
	}
	if ok {
		p.answers++
		p.serving++
		return true
	}
	p.refused++
	if p.says != saysNothing {
		after = max(after, a.requests.free(now))
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
	return false
}

// serve starts the provider and returns a client of it. No bytes are transferred: the tests are about the
// headers and the time.
func (p *provider) serve() *http.Client {
	p.began, p.keys = time.Now(), map[string]*account{}
	return &http.Client{Transport: direct{p}}
}

// direct calls a handler instead of sending a request. As with a real transport, the handler continues if a
// client gives up.
type direct struct{ to http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := make(chan *http.Response, 1)
	go func() {
		w := httptest.NewRecorder()
		d.to.ServeHTTP(w, r)
		answer <- w.Result()
	}()
	select {
	case a := <-answer:
		return a, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// model asks a provider with one key.
type model struct {
	http *http.Client
	key  string
	at   *endpoint.Endpoint
}

func newModel(client *http.Client, key string) *model {
	return &model{client, key, &endpoint.Endpoint{Mask: mask.New()}}
}

// RetryPolicy returns a client's usual policy.
func (m *model) RetryPolicy() llm.RetryPolicy { return llm.RetryPolicy{} }

func (m *model) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	body := fmt.Sprintf("%s %d", req.Messages[0].Text(), req.Tokens)
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://provider/", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	post.Header.Set("Authorization", m.key)
	answer, err := m.http.Do(post)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, m.at.Refused(answer)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return nil, err
	}
	return &llm.Response{Usage: vocab.Usage{Input: req.Tokens}, Rate: endpoint.ReadRate(answer.Header, time.Now())}, nil
}
