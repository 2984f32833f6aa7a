package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
)

// patient returns the health of an engine that answers while well is true.
func patient(t *testing.T, well *atomic.Bool, patience time.Duration) (h *health, told *bytes.Buffer) {
	t.Helper()
	told = &bytes.Buffer{}
	h = newHealth(func(context.Context) error {
		if well.Load() {
			return nil
		}
		return io.ErrUnexpectedEOF
	}, "unix:///engine", patience, slog.New(slog.NewTextHandler(told, nil)))
	t.Cleanup(h.close)
	return h, told
}

func TestWhoStartsSomethingWaitsForTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		h, told := patient(t, &well, 0)
		if err := h.Ready(t.Context()); err != nil {
			t.Fatal("waits without an outage:", err)
		}
		start := time.Now()
		time.AfterFunc(time.Minute, func() { well.Store(true) })
		var all sync.WaitGroup
		for range 20 { // calls that fail together are one outage
			all.Go(func() {
				h.Suspect(io.ErrUnexpectedEOF)
				if err := h.Ready(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if d := time.Since(start); d < time.Minute || d > time.Minute+longestPause {
			t.Errorf("waited %v for an engine that was away for a minute", d)
		}
		if h.Losses() != 20 {
			t.Errorf("%d calls lost the engine, want 20", h.Losses())
		}
		synctest.Wait()
		if n := strings.Count(told.String(), "level=WARN"); n != 2 || !strings.Contains(told.String(), "answers again") {
			t.Errorf("told %d times, want once at each end:\n%s", n, told)
		}
	})
}

func TestPatienceWithAnEngineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		h, _ := patient(t, &well, time.Minute)
		h.Suspect(io.ErrUnexpectedEOF)
		start := time.Now()
		err := h.Ready(t.Context())
		if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" || time.Since(start) != time.Minute {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if err := h.Ready(t.Context()); fault.KindOf(err) != fault.Host || time.Since(start) != time.Minute {
			t.Errorf("the next one waits again, until %v: %v", time.Since(start), err)
		}
		well.Store(true)
		time.Sleep(2 * longestPause)
		if err := h.Ready(t.Context()); err != nil {
			t.Errorf("the engine is back: %v", err)
		}
	})
}

func TestAWaitForTheEngineEndsWithItsCallerAndAtClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		h, told := patient(t, &well, 0)
		h.Suspect(context.DeadlineExceeded) // a hung engine is one that does not answer
		why := errors.New("told to stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if err := h.Ready(ctx); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
		time.AfterFunc(time.Second, h.close)
		start := time.Now()
		if err := h.Ready(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("let go after %v: %v", time.Since(start), err)
		}
		h.Suspect(io.ErrUnexpectedEOF) // starts nothing any more
		if strings.Contains(told.String(), "again") {
			t.Errorf("told of an engine that is still away:\n%s", told)
		}
	})
}

func TestACallThatMerelyFailedIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		h, _ := patient(t, &well, 0)
		for _, err := range []error{nil, errors.New("no such container"), context.Canceled} {
			if h.Suspect(err) {
				t.Errorf("%v is taken for an outage", err)
			}
		}
		start := time.Now()
		if err := h.Ready(t.Context()); err != nil || time.Since(start) != 0 {
			t.Errorf("waited %v: %v", time.Since(start), err)
		}
	})
}
