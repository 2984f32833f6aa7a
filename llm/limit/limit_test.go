package limit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/limit"
	"batch.example/batch/vocab"
)

func enter(t *testing.T, l *limit.Limiter, ticket *llm.Ticket) llm.Pass {
	t.Helper()
	pass, err := l.Enter(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	return pass
}

func refusal(after time.Duration) error {
	return fault.New(fault.Transient, "asking", &llm.RateLimited{After: after, Err: io.EOF})
}

func TestCallsAreAdmittedInOrderAndARefusedOneKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Limits{Requests: 60})
		first := &llm.Ticket{}
		pass := enter(t, l, first)
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		go0 := func(n int, ticket *llm.Ticket) {
			all.Go(func() {
				p := enter(t, l, ticket)
				mu.Lock()
				order = append(order, n)
				mu.Unlock()
				p.Done(&llm.Response{}, nil)
			})
			synctest.Wait()
		}
		for n := 1; n <= 5; n++ {
			go0(n, &llm.Ticket{})
		}
		pass.Done(nil, refusal(2*time.Second))
		if first.Wait < 2*time.Second || first.Wait > 3*time.Second {
			t.Errorf("the reported wait before the next try is %v, want about 2 s", first.Wait)
		}
		go0(0, first)
		all.Wait()
		if want := []int{0, 1, 2, 3, 4, 5}; !slices.Equal(order, want) {
			t.Errorf("admitted %v, want %v", order, want)
		}
	})
}

func TestACanceledCallFreesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Limits{Requests: 60})
		enter(t, l, &llm.Ticket{}).Done(&llm.Response{}, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 30 {
			all.Go(func() {
				if pass, err := l.Enter(ctx, &llm.Ticket{}); !fault.Canceled(err) || pass != nil {
					t.Errorf("got %v, %v; want a cancellation", pass, err)
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		all.Go(func() { enter(t, l, &llm.Ticket{}).Done(&llm.Response{}, nil) })
		synctest.Wait()
		cancel()
		all.Wait()
		if took := time.Since(began); took > 1100*time.Millisecond {
			t.Errorf("the call behind canceled ones took %v, want the second to the next request", took)
		}
		if _, err := l.Enter(ctx, &llm.Ticket{}); !fault.Canceled(err) {
			t.Errorf("a call that is canceled before it comes: %v, want a cancellation", err)
		}
	})
}

// Only the pace limits the calls of a key with a known limit, until a refusal.
func TestCallsUnderAKnownLimitBeginAtItsPace(t *testing.T) {
	for name, c := range map[string]struct {
		given, reported int64
		atOnce          int // after a second without an answer
	}{
		"given": {6000, 0, 99}, "reported": {0, 6000, 99}, "not known": {0, 0, 8},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limit.New(limit.Limits{Requests: c.given})
			if c.reported > 0 {
				enter(t, l, &llm.Ticket{}).Done(&llm.Response{Rate: &llm.Rate{Requests: llm.Window{Limit: c.reported, Remaining: 1}}}, nil)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			n := 0
			for ctx.Err() == nil {
				if _, err := l.Enter(ctx, &llm.Ticket{}); err == nil {
					n++
				}
			}
			if n < c.atOnce || n > c.atOnce+5 {
				t.Errorf("%s: %d calls began, want about %d", name, n, c.atOnce)
			}
		})
	}
}

func TestTokensAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{
			meter:  func() meter { return &bucket{size: 1e6, rate: 1e6} },
			tokens: func() meter { return &window{limit: 600_000} },
		}
		client := p.serve()
		m := llm.Calls{Gate: limit.New(limit.Limits{Tokens: 600_000})}.Compose(newModel(client, "key"))
		took, _ := sweep{64, 10, 32}.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 5000) })
		if least := 320 * time.Second; took > least*105/100 || p.refused > 6 { // 3.2 million tokens
			t.Errorf("it took %v, %d refused; want at most 5 %% more than %v, 1 %%", took, p.refused, least)
		}
	})
}

func TestAnEstimateIsCorrectedByTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			provider string
			want     time.Duration
		}{
			"what was used counts":                      {"openai", 30 * time.Second},
			"what came from the cache does not, of one": {"anthropic", 3 * time.Second},
		} {
			l := new(limit.Pool).For(c.provider, "", "key")
			l.Restrict(limit.Limits{Tokens: 2000})
			usage := vocab.Usage{Input: 950, Cached: 900, Output: 50}
			enter(t, l, &llm.Ticket{Tokens: 100}).Done(&llm.Response{Usage: usage}, nil)
			began := time.Now()
			enter(t, l, &llm.Ticket{Tokens: 100}).Done(&llm.Response{Usage: usage}, nil)
			if took := time.Since(began); took < c.want || took > c.want*105/100 {
				t.Errorf("%s: waited %v, want about %v", name, took, c.want)
			}
		}
	})
}

func TestAnEstimateStaysWhereTheAnswerDoesNotCount(t *testing.T) {
	for name, tokens := range map[string]int64{"a request": 500, "a huge one": 1e12} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limit.New(limit.Limits{Tokens: 1000})
				began := time.Now() // even a huge request goes at once
				enter(t, l, &llm.Ticket{Tokens: tokens}).Done(&llm.Response{}, nil)
				enter(t, l, &llm.Ticket{Tokens: 10}).Done(&llm.Response{}, nil)
				want := time.Duration(min(60, tokens*60/1000)) * time.Second
				if took := time.Since(began); took < want || took > want*105/100 {
					t.Errorf("the next request waited %v, want about %v", took, want)
				}
			})
		})
	}
}

// somebodyElse uses a part of the key's limit, even if nothing of it is left.
func (p *provider) somebodyElse(ctx context.Context, key string, perSecond int) {
	for tick := time.Tick(time.Second / time.Duration(perSecond)); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick:
			p.mu.Lock()
			if a := p.keys[key]; a != nil {
				a.requests.take(now, 1)
			}
			p.mu.Unlock()
		}
	}
}

func TestAKeyIsSharedWithSomebodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		says  int
		given int64
		meter func() meter
	}{
		"a given limit":             {saysRetryAfter, 600, func() meter { return &bucket{size: 10, rate: 10} }},
		"a limit in headers":        {saysHeaders, 0, func() meter { return &bucket{size: 600, rate: 10} }},
		"nothing is known":          {saysNothing, 0, func() meter { return &bucket{size: 10, rate: 10} }},
		"a given limit of a window": {saysRetryAfter, 600, func() meter { return &window{limit: 600} }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{meter: c.meter, says: c.says, limit: 600}
				client := p.serve()
				m := llm.Calls{Gate: limit.New(limit.Limits{Requests: c.given})}.Compose(newModel(client, "key"))
				ctx, cancel := context.WithCancel(t.Context())
				var other sync.WaitGroup
				other.Go(func() { p.somebodyElse(ctx, "key", 4) })
				took, _ := sweep{64, 40, 64}.run(t, func(id string) (*llm.Response, error) { return ask(t, m, id, 0) })
				cancel()
				other.Wait()
				t.Logf("%v, %d of 2560 refused", took, p.refused)
				if took > 500*time.Second || p.refused > 130 { // 427 s at the rate that the other leaves
					t.Errorf("it took %v, %d refused; want at most 500 s, 5 %%", took, p.refused)
				}
			})
		})
	}
}

func TestAKeyThatOnlyRefusesEndsItsCallsAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{meter: func() meter { return &bucket{} }}
		client := p.serve()
		m := llm.Calls{Gate: limit.New(limit.Limits{})}.Compose(newModel(client, "key"))
		began := time.Now()
		_, err := ask(t, m, "x", 0)
		took := time.Since(began)
		if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "refused every request") || !strings.Contains(err.Error(), "slow down") {
			t.Errorf("%v (%v), want a Host fault with the provider's words that says that every request was refused", err, fault.KindOf(err))
		}
		if took < limit.Patience || took > limit.Patience+time.Minute || p.refused > 60 {
			t.Errorf("after %v and %d requests, want about %v and not many", took, p.refused, limit.Patience)
		}
		all, limited := llm.Waited(err)
		if all != limited || limited < limit.Patience {
			t.Errorf("waited %v, of that %v for the limit; want all", all, limited)
		}
	})
}

// A call above the limit does not delay the others. It ends only if no other explanation for its refusals is
// left.
func TestACallAboveTheLimitEndsAndTheOthersGoOn(t *testing.T) {
	refused := fault.New(fault.Transient, "asking", &llm.RateLimited{Rate: &llm.Rate{Tokens: llm.Window{Limit: 1000}}, Err: io.EOF})
	reply := func(in, out int64) *llm.Response {
		return &llm.Response{Usage: vocab.Usage{Input: in, Output: out}}
	}
	for name, c := range map[string]struct {
		tokens int64
		before *llm.Response // of a call with an estimate of 100 tokens
		other  bool          // another call is on its way
		after  int64         // tokens of a call that is accepted afterwards
		ends   bool
	}{
		"alone":                          {1200, nil, false, 0, true},
		"an estimate that may be wrong":  {1199, nil, false, 0, false},
		"a model that thinks at length":  {300, reply(100, 400), false, 0, false},
		"tokens that come from a cache":  {1200, reply(10, 10), false, 0, false},
		"others on their way":            {1200, nil, true, 0, false},
		"others, a smaller one accepted": {1200, nil, true, 500, true},
		"others, a larger one accepted":  {1200, nil, true, 1300, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := limit.New(limit.Limits{})
			if c.before != nil {
				enter(t, l, &llm.Ticket{Tokens: 100}).Done(c.before, nil)
			}
			if c.other {
				enter(t, l, &llm.Ticket{Tokens: 10})
			}
			large := &llm.Ticket{Tokens: c.tokens}
			for ; large.Refused < 3; large.Refused++ {
				enter(t, l, large).Done(nil, refused)
			}
			if c.after > 0 {
				enter(t, l, &llm.Ticket{Tokens: c.after}).Done(reply(c.after, 0), nil)
			}
			_, err := l.Enter(t.Context(), large)
			if (err != nil) != c.ends || err != nil && (fault.KindOf(err) != fault.Instance || !errors.Is(err, llm.ErrAccountLimit) || fault.HintOf(err) == "") {
				t.Errorf("%s: %v; ends: want %v, with an Instance fault for the account's limit and a hint", name, err, c.ends)
			}
		})
	}
}

func TestAPauseThatIsTooLongEndsAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Limits{})
		pass := enter(t, l, &llm.Ticket{})
		pass.Done(nil, refusal(24*time.Hour))
		_, err := l.Enter(t.Context(), &llm.Ticket{})
		if fault.KindOf(err) != fault.Host || !errors.Is(err, io.EOF) || fault.HintOf(err) == "" {
			t.Errorf("%v (%v), want a host fault with its cause and a hint", err, fault.KindOf(err))
		}
	})
}

func TestOtherFailuresDoNotPauseTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(limit.Limits{})
		began := time.Now()
		for _, err := range []error{fault.New(fault.Transient, "500", nil), context.Canceled, fault.New(fault.Instance, "400", nil), nil} {
			enter(t, l, &llm.Ticket{}).Done(nil, err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the calls waited %v, want no wait", took)
		}
	})
}

func TestAPoolHasOneLimiterForEachKey(t *testing.T) {
	var pool limit.Pool
	const key = "sk-4tR9wQ2zK7mX5vB8"
	one := pool.For("openai", "https://host/v1", key)
	if pool.For("openai", "https://host/v1/", key) != one {
		t.Error("the same key has two limiters, want one")
	}
	for _, other := range []*limit.Limiter{
		pool.For("openai", "https://host/v1", "another"), pool.For("azure", "https://host/v1", key), pool.For("openai", "https://other/v1", key),
	} {
		if other == one {
			t.Error("another key has the same limiter, want its own")
		}
	}
}

func TestAPoolForgetsTheLimitersThatNobodyUses(t *testing.T) {
	var p limit.Pool
	busy := p.For("openai", "base", "busy")
	pass := enter(t, busy, &llm.Ticket{})
	idle := p.For("openai", "base", "idle")
	for i := range 5000 {
		p.For("openai", "base", fmt.Sprint("of a turn ", i))
	}
	if p.For("openai", "base", "busy") != busy {
		t.Error("the limiter of a key in use was forgotten")
	}
	if p.For("openai", "base", "idle") == idle {
		t.Error("the limiter of a key that was used once is kept, want room for others")
	}
	pass.Done(nil, nil)
}
