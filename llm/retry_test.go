package llm_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm"
)

// answers is a model that returns its errors one after the other, then succeeds.
type answers struct {
	errs  []error
	calls []time.Time
	takes time.Duration
}

func (a *answers) Generate(ctx context.Context, _ *llm.Request) (*llm.Response, error) {
	time.Sleep(a.takes)
	a.calls = append(a.calls, time.Now())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if n := len(a.calls); n <= len(a.errs) && a.errs[n-1] != nil {
		return nil, a.errs[n-1]
	}
	return &llm.Response{Model: "m"}, nil
}

func transient(err error) error { return fault.New(fault.Transient, "asking", err) }

func limited(after time.Duration) error {
	return transient(&llm.RateLimited{After: after, Err: io.EOF})
}

func repeat(err error, n int) (errs []error) {
	for range n {
		errs = append(errs, err)
	}
	return errs
}

func TestRetryWaitsAndCountsTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: repeat(transient(io.EOF), 3), takes: time.Second}
		started := time.Now()
		resp, err := llm.Calls{}.Compose(patient{m, llm.RetryPolicy{}}).Generate(t.Context(), &llm.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := resp.Waited, time.Since(started)-time.Second; got != want {
			t.Errorf("waited %v, want all but the last try, %v", got, want)
		}
		for i, mean := range []time.Duration{1, 2, 4} {
			wait := m.calls[i+1].Sub(m.calls[i]) - m.takes
			if mean *= time.Second; wait < mean/10 || wait > 2*mean {
				t.Errorf("wait %d was %v, want between a tenth and twice %v", i, wait, mean)
			}
		}
	})
}

func TestTheDefaultPolicyTriesTenTimesInAboutFourMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls = 400 // single calls vary by 60 s, so that their mean is within 15 s
		started := time.Now()
		for range calls {
			m := &answers{errs: repeat(transient(io.EOF), 99)}
			_, err := llm.Calls{}.Compose(patient{m, llm.RetryPolicy{}}).Generate(t.Context(), &llm.Request{})
			if len(m.calls) != llm.DefaultTries || fault.KindOf(err) != fault.Transient || !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "10 tries") {
				t.Fatalf("%v after %d tries, want a Transient fault after %d", err, len(m.calls), llm.DefaultTries)
			}
		}
		if mean := time.Since(started) / calls; mean < 240*time.Second || mean > 270*time.Second {
			t.Errorf("a call that fails took %v in the mean, want about 255 s", mean)
		}
	})
}

func TestRetryWaitsAsARateLimitAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: repeat(limited(90*time.Second), 2)}
		if _, err := (llm.Calls{}).Compose(patient{m, llm.RetryPolicy{}}).Generate(t.Context(), &llm.Request{}); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if wait := m.calls[i+1].Sub(m.calls[i]); wait < 90*time.Second || wait > 99*time.Second {
				t.Errorf("wait %d was %v, want 90 to 99 s", i, wait)
			}
		}
		m = &answers{errs: repeat(limited(24*time.Hour), 99)}
		_, err := llm.Calls{}.Compose(patient{m, llm.RetryPolicy{}}).Generate(t.Context(), &llm.Request{})
		if len(m.calls) != 1 || fault.KindOf(err) != fault.Transient {
			t.Errorf("a server that asks to wait a day: %d calls, error %v; want 1 call and its error", len(m.calls), err)
		}
	})
}

func TestRetryDoesNotRepeatOtherFaults(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Unknown, fault.Usage, fault.Instance, fault.Host, fault.Bug} {
		want := fault.New(kind, "asking", io.EOF)
		m := &answers{errs: repeat(want, 9)}
		_, err := llm.Calls{}.Compose(patient{m, llm.RetryPolicy{}}).Generate(t.Context(), &llm.Request{})
		if err != error(want) || len(m.calls) != 1 {
			t.Errorf("%v: got %d calls, error %v; want error %v, 1 call", kind, len(m.calls), err, error(want))
		}
	}
}

func TestRetryReportsWhatIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		long := errors.New("503 service unavailable:\n\t<html> " + strings.Repeat("é", 999))
		m := &answers{errs: []error{limited(time.Minute), transient(long)}, takes: time.Second}
		log := slog.New(slog.NewTextHandler(&buf, nil))
		var told []llm.Repeat
		var at []time.Time
		req := &llm.Request{Repeating: func(r llm.Repeat) { told, at = append(told, r), append(at, time.Now()) }}
		resp, err := llm.Calls{Log: log}.Compose(patient{m, llm.RetryPolicy{Tries: 5}}).Generate(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if len(told) != 2 || strings.Count(buf.String(), "\n") != 2 {
			t.Fatalf("%d reports, want one for each of two failures; log %q", len(told), buf.String())
		}
		for i, r := range told {
			if next := m.calls[i+1].Sub(at[i]) - m.takes; r.Try != i+2 || r.Tries != 5 || r.Wait != next {
				t.Errorf("report %d: %+v, but the next try was after %v", i, r, next)
			}
		}
		if !told[0].RateLimited || told[1].RateLimited || told[0].Reason != "EOF (retry after 1m0s)" ||
			told[1].Reason != "503 service unavailable: <html> ..." {
			t.Errorf("reports %+v, want a rate limit and a 503 with their reasons", told)
		}
		if want := m.calls[1].Sub(m.calls[0]); resp.RateLimited != want || resp.Waited != want+m.calls[2].Sub(m.calls[1]) {
			t.Errorf("waited %v, of that %v for the rate limit; want %v for that", resp.Waited, resp.RateLimited, want)
		}
	})
}

func TestRetryReportsTheWaitsOfACallThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: []error{limited(time.Minute), transient(io.EOF), transient(io.EOF)}, takes: time.Second}
		_, err := llm.Calls{}.Compose(patient{m, llm.RetryPolicy{Tries: 3}}).Generate(t.Context(), &llm.Request{})
		all, limited := llm.Waited(err)
		if want := m.calls[1].Sub(m.calls[0]); limited != want || all != want+m.calls[2].Sub(m.calls[1]) {
			t.Errorf("waited %v, of that %v for the rate limit; want %v for that", all, limited, want)
		}
	})
}

func TestACallThatIsCutShortDidNotWait(t *testing.T) {
	for name, failures := range map[string]int{"the first try": 0, "the second try": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				m := &answers{errs: repeat(limited(time.Minute), failures), takes: time.Second}
				began, wait := time.Now(), time.Duration(0) // with the try before it
				stop := func(next time.Duration) { time.AfterFunc(next+m.takes/2, cancel) }
				if failures == 0 {
					stop(0)
				}
				req := &llm.Request{Repeating: func(next llm.Repeat) {
					wait = time.Since(began) + next.Wait
					stop(next.Wait)
				}}
				_, err := llm.Calls{}.Compose(patient{m, llm.RetryPolicy{}}).Generate(ctx, req)
				if all, limited := llm.Waited(err); !fault.Canceled(err) || all != wait || limited != wait {
					t.Errorf("waited %v, of that %v for the rate limit, want %v (%v)", all, limited, wait, err)
				}
			})
		})
	}
}

func TestARetryReasonContainsNoPartOfASecret(t *testing.T) {
	const known, other = "correct horse\nbattery staple", "sk-4tR9wQ2zK7mX5vB8"
	for name, err := range map[string]error{
		"one that is known":     errors.New(strings.Repeat("x", 280) + " " + known + " and more"),
		"one that is not known": errors.New(strings.Repeat("x ", 145) + other + " and more"),
		"nothing but a secret":  errors.New(strings.Repeat(other, 20)),
	} {
		var logged bytes.Buffer
		var reason string
		m := mask.New(mask.Secret{Name: "PASSPHRASE", Value: known})
		req := &llm.Request{Repeating: func(r llm.Repeat) { reason = r.Reason }}
		calls := llm.Calls{Log: slog.New(slog.NewTextHandler(&logged, nil)), Mask: m}
		if _, err := calls.Compose(patient{&answers{errs: []error{transient(err)}}, llm.RetryPolicy{Tries: 2, Base: time.Microsecond}}).Generate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{reason, logged.String()} {
			if strings.Contains(text, "corr") || strings.Contains(text, "sk-") || text == "" {
				t.Errorf("%s: got %q, want no %q, no %q, some text", name, text, "corr", "sk-")
			}
		}
	}
}

// gate admits each try after a second.
type gate struct {
	tries   []llm.Ticket
	results []error
	err     error // of the try after results
	after   int
}

func (g *gate) Enter(ctx context.Context, ticket *llm.Ticket) (llm.Pass, error) {
	time.Sleep(time.Second)
	if g.err != nil && len(g.tries) == g.after {
		return nil, g.err
	}
	g.tries = append(g.tries, *ticket)
	return pass{g, ticket}, ctx.Err()
}

type pass struct {
	*gate
	ticket *llm.Ticket
}

func (p pass) Done(_ *llm.Response, err error) {
	p.results = append(p.results, err)
	p.ticket.Wait = 7 * time.Second
}

func TestAGateDecidesWhenARateLimitedCallIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: append(repeat(limited(3*time.Second), 20), transient(io.EOF)), takes: time.Second}
		g := &gate{}
		var seen []llm.Repeat
		req := &llm.Request{Tokens: 5, Repeating: func(r llm.Repeat) { seen = append(seen, r) }}
		began := time.Now()
		resp, err := llm.Calls{Gate: g}.Compose(patient{m, llm.RetryPolicy{Tries: 2}}).Generate(t.Context(), req)
		if err != nil {
			t.Fatalf("%v, want an answer: tries that hit the limit are not counted", err)
		}
		if len(g.tries) != 22 || len(g.results) != 22 || g.tries[21].Refused != 20 || g.tries[21].Tokens != 5 {
			t.Errorf("%d tries, %d done, the last with %+v; want 22, 22, 20 refused of 5 tokens", len(g.tries), len(g.results), g.tries[len(g.tries)-1])
		}
		if first, last := seen[0], seen[20]; first.Try != 2 || first.Tries != 3 || !first.RateLimited || first.Wait != 7*time.Second || last.Try != 22 || last.RateLimited {
			t.Errorf("reported %+v first and %+v last, want try 2 and then 22, and the wait that the gate says", first, last)
		}
		// 20 times a second before a try and one in it; then a second, the failure, its wait, and a second.
		if resp.RateLimited != 42*time.Second || resp.Waited != time.Since(began)-time.Second {
			t.Errorf("waited %v, of that %v for the limit; want all but the last second of %v, 42 s", resp.Waited, resp.RateLimited, time.Since(began))
		}
	})
}

// The work may be paused before a further try. That is not a wait for the provider.
func TestAPauseBeforeATryIsNotAWaitForTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: repeat(limited(0), 1), takes: time.Second}
		req := &llm.Request{Trying: func() error {
			time.Sleep(time.Hour)
			return nil
		}}
		resp, err := llm.Calls{Gate: &gate{}}.Compose(patient{m, llm.RetryPolicy{Tries: 2}}).Generate(t.Context(), req)
		if err != nil || resp.RateLimited != 3*time.Second || resp.Waited != time.Hour+3*time.Second {
			t.Errorf("waited %v, of that %v for the limit, error %v; want a pause of an hour, 3 s, none", resp.Waited, resp.RateLimited, err)
		}
	})
}

func TestAGateDecidesAboutALongPauseToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: repeat(limited(11*time.Minute), 1)}
		if _, err := (llm.Calls{Gate: &gate{}}).Compose(patient{m, llm.RetryPolicy{Tries: 2}}).Generate(t.Context(), &llm.Request{}); err != nil {
			t.Errorf("%v, want an answer: the gate admitted a second try", err)
		}
	})
}

func TestAGateEndsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: repeat(limited(0), 99), takes: time.Second}
		g := &gate{err: transient(io.ErrNoProgress), after: 2}
		_, err := llm.Calls{Gate: g}.Compose(patient{m, llm.RetryPolicy{Tries: 2}}).Generate(t.Context(), &llm.Request{})
		all, limited := llm.Waited(err)
		if !errors.Is(err, io.ErrNoProgress) || fault.KindOf(err) != fault.Transient || all != 5*time.Second || limited != all {
			t.Errorf("%v after %v, of that %v for the limit; want the gate's fault, 5 s, all", err, all, limited)
		}
	})
}

func TestACallIsCanceledAtTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := llm.Calls{Gate: &gate{err: context.Canceled}}.Compose(patient{&answers{}, llm.RetryPolicy{Tries: 2}}).Generate(ctx, &llm.Request{})
		if all, limited := llm.Waited(err); !fault.Canceled(err) || all != time.Second || limited != all {
			t.Errorf("%v after %v, of that %v for the limit; want a cancellation, a second, all", err, all, limited)
		}
	})
}
