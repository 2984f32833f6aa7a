package daemon

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
func patient(t *testing.T, well *atomic.Bool, patience time.Duration) (h *health, warned *bytes.Buffer) {
	t.Helper()
	warned = &bytes.Buffer{}
	h = newHealth(func(context.Context) error {
		if well.Load() {
			return nil
		}
		return io.ErrUnexpectedEOF
	}, "unix:///engine", patience, slog.New(slog.NewTextHandler(warned, nil)))
	t.Cleanup(h.close)
	return h, warned
}

func TestCallsThatStartSomethingWaitForTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		h, warned := patient(t, &well, 0)
		if err := h.Ready(t.Context()); err != nil {
			t.Fatal("a call waited without an outage:", err)
		}
		start := time.Now()
		time.AfterFunc(time.Minute, func() { well.Store(true) })
		var all sync.WaitGroup
		for range 20 { // calls that fail together are one outage
			all.Go(func() {
				h.NoteError(io.ErrUnexpectedEOF)
				if err := h.Ready(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if d := time.Since(start); d < time.Minute || d > time.Minute+longestPause {
			t.Errorf("waited %v, want a minute until the engine is back", d)
		}
		if h.Losses() != 20 {
			t.Errorf("%d calls lost the engine, want 20", h.Losses())
		}
		synctest.Wait()
		if n := strings.Count(warned.String(), "level=WARN"); n != 2 || !strings.Contains(warned.String(), "answers again") {
			t.Errorf("logged %d times, want once at the start and once at the end:\n%s", n, warned)
		}
	})
}

func TestTheWaitForAnEngineEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		h, _ := patient(t, &well, time.Minute)
		h.NoteError(io.ErrUnexpectedEOF)
		start := time.Now()
		err := h.Ready(t.Context())
		if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" || time.Since(start) != time.Minute {
			t.Errorf("after %v: got %v, want a Host fault, a hint, after %v", time.Since(start), err, time.Minute)
		}
		if err := h.Ready(t.Context()); fault.KindOf(err) != fault.Host || time.Since(start) != time.Minute {
			t.Errorf("a second call waited again, until %v: %v", time.Since(start), err)
		}
		well.Store(true)
		time.Sleep(2 * longestPause)
		if err := h.Ready(t.Context()); err != nil {
			t.Errorf("after the engine is back: got error %v", err)
		}
	})
}

func TestAWaitForTheEngineEndsOnCancelAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		h, warned := patient(t, &well, 0)
		h.NoteError(context.DeadlineExceeded) // as from an engine that does not answer
		why := errors.New("canceled by the test")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		if err := h.Ready(ctx); !errors.Is(err, why) {
			t.Errorf("got %v, want error %v", err, why)
		}
		time.AfterFunc(time.Second, h.close)
		start := time.Now()
		if err := h.Ready(t.Context()); err != nil || time.Since(start) != time.Second {
			t.Errorf("let go after %v: got %v, want after %v, no error", time.Since(start), err, time.Second)
		}
		h.NoteError(io.ErrUnexpectedEOF) // starts no new probe after Close
		if strings.Contains(warned.String(), "again") {
			t.Errorf("logged that an engine is back which is still away:\n%s", warned)
		}
	})
}

func TestAFailedCallIsNotAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var well atomic.Bool
		h, _ := patient(t, &well, 0)
		for _, err := range []error{nil, errors.New("no such container"), context.Canceled} {
			if h.NoteError(err) {
				t.Errorf("%v counts as an outage, want only a failed call", err)
			}
		}
		start := time.Now()
		if err := h.Ready(t.Context()); err != nil || time.Since(start) != 0 {
			t.Errorf("waited %v: got %v, want no wait, no error", time.Since(start), err)
		}
	})
}
