package llm_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// answers is a model that gives one error after the other, then succeeds.
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
	if n := len(a.calls); n <= len(a.errs) {
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
		resp, err := llm.Retry(m, llm.RetryPolicy{}, nil).Generate(t.Context(), &llm.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := resp.Waited, time.Since(started)-time.Second; got != want {
			t.Errorf("waited %v, want all but the last try, %v", got, want)
		}
		for i, mean := range []time.Duration{1, 2, 4} {
			wait := m.calls[i+1].Sub(m.calls[i]) - m.takes
			if mean *= time.Second; wait < mean/2 || wait > mean*3/2 {
				t.Errorf("wait %d was %v, want about %v", i, wait, mean)
			}
		}
	})
}

func TestRetryGivesUpAfterTheLastAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: repeat(transient(io.EOF), 99)}
		started := time.Now()
		_, err := llm.Retry(m, llm.RetryPolicy{}, nil).Generate(t.Context(), &llm.Request{})
		if len(m.calls) != llm.DefaultTries {
			t.Errorf("%d tries, want %d", len(m.calls), llm.DefaultTries)
		}
		if fault.KindOf(err) != fault.Transient || !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "10 tries") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(started); took < 2*time.Minute || took > 7*time.Minute {
			t.Errorf("the default policy took %v, want about 4 minutes", took)
		}
	})
}

func TestRetryHonoursRateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &answers{errs: repeat(limited(90*time.Second), 2)}
		if _, err := llm.Retry(m, llm.RetryPolicy{}, nil).Generate(t.Context(), &llm.Request{}); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if wait := m.calls[i+1].Sub(m.calls[i]); wait < 90*time.Second || wait > 99*time.Second {
				t.Errorf("wait %d was %v, want 90 to 99 s", i, wait)
			}
		}
		m = &answers{errs: repeat(limited(24*time.Hour), 99)}
		_, err := llm.Retry(m, llm.RetryPolicy{}, nil).Generate(t.Context(), &llm.Request{})
		if len(m.calls) != 1 || fault.KindOf(err) != fault.Transient {
			t.Errorf("a demand to wait a day: %d calls, error %v", len(m.calls), err)
		}
	})
}

func TestRetryLeavesOtherFaultsAlone(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Unknown, fault.Usage, fault.Instance, fault.Host, fault.Bug} {
		want := fault.New(kind, "asking", io.EOF)
		m := &answers{errs: repeat(want, 9)}
		_, err := llm.Retry(m, llm.RetryPolicy{}, nil).Generate(t.Context(), &llm.Request{})
		if err != error(want) || len(m.calls) != 1 {
			t.Errorf("%v: %d calls, error %v", kind, len(m.calls), err)
		}
	}
}

func TestRetryStopsWhenCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		m := &answers{errs: repeat(limited(time.Minute), 9)}
		time.AfterFunc(time.Second, func() { cancel(errors.New("drain")) })
		started := time.Now()
		_, err := llm.Retry(m, llm.RetryPolicy{}, nil).Generate(ctx, &llm.Request{})
		if !fault.Canceled(err) || time.Since(started) != time.Second {
			t.Errorf("after %v: %v, want a cancellation after 1 s", time.Since(started), err)
		}
	})
}

func TestRetryTellsTheLogWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		long := errors.New("asking model m: 503 service unavailable:\n\t<html>" + strings.Repeat("é", 999))
		m := &answers{errs: []error{limited(time.Minute), transient(long)}}
		log := slog.New(slog.NewTextHandler(&buf, nil))
		if _, err := llm.Retry(m, llm.RetryPolicy{Tries: 5}, log).Generate(t.Context(), &llm.Request{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(buf.String()), "\n")
		if len(lines) != 2 {
			t.Fatalf("log %q, want a line for each of two failures", lines)
		}
		if want := regexp.MustCompile(`msg="try 1 of 5 failed, the next in 1m\ds: asking: EOF \(retry after 1m0s\)"$`); !want.MatchString(lines[0]) {
			t.Errorf("log %q, want %v", lines[0], want)
		}
		if want := regexp.MustCompile(`try 2 of 5 failed, the next in [\d.]+m?s: asking: asking model m: 503 service unavailable: <html>é+\.\.\."$`); !want.MatchString(lines[1]) || len(lines[1]) > 450 {
			t.Errorf("log %q, want %v", lines[1], want)
		}
	})
}

func TestRetryWithOneAttemptDoesNotRetry(t *testing.T) {
	m := &answers{errs: repeat(transient(io.EOF), 9)}
	_, err := llm.Retry(m, llm.RetryPolicy{Tries: 1}, nil).Generate(t.Context(), &llm.Request{})
	if len(m.calls) != 1 || err == nil || err.Error() != "asking: EOF" {
		t.Errorf("%d calls, error %v", len(m.calls), err)
	}
}
