package sandbox

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/sandbox/engine"
)

// The caller does not wait until a closed sandbox's container is removed, up to a bound.
func TestRemovalsRunInTheBackgroundUpToABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := &Host{}, &site{places: make(chan struct{}, maxLeaving)}
		began := time.Now()
		for range maxLeaving {
			h.begin(s, func() { time.Sleep(time.Second) })
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("%d removals held up their callers for %v; want 0", maxLeaving, waited)
		}
		h.begin(s, func() { time.Sleep(time.Second) })
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("one more held up its caller for %v; want 1s, until another has ended", waited)
		}
		h.leaving.Wait()
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("all had ended after %v; want 2s", took)
		}
	})
}

// heldRemovals returns a host with an open sandbox. Its engine answers no removal until
// allow is called, and then with the error of answer, if there is one. The caller must call
// allow.
func heldRemovals(t *testing.T, log *slog.Logger, answer func() error) (h *Host, in dataset.Instance, box *Sandbox, allow func()) {
	t.Helper()
	var held atomic.Bool // not before: opening the first sandbox may remove a container
	allowed := make(chan struct{})
	h, in = anyHost(t, func(c *Config) {
		c.Log = log
		c.Options.Before = func(call string) error {
			if call != "remove" || !held.Load() {
				return nil
			}
			<-allowed
			return answer()
		}
	})
	box = h.open(t, Opening{Instance: in, Attempt: 1})
	held.Store(true)
	return h, in, box, sync.OnceFunc(func() { close(allowed) })
}

// exists reports whether the sandbox's container exists.
func (h *Host) exists(t *testing.T, s *Sandbox) bool {
	t.Helper()
	list, err := h.sites[0].engine.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(c engine.Owned) bool { return c.ID == s.Facts().Container })
}

func TestAClosedSandboxIsRemovedWhileItsCallerContinues(t *testing.T) {
	h, in, first, allow := heldRemovals(t, nil, func() error { return nil })
	defer allow()
	if err := errors.Join(first.Close(), first.Close()); err != nil {
		t.Fatal(err)
	}
	// Another attempt at the instance does not wait for it, and has another container name.
	second := h.open(t, Opening{Instance: in, Attempt: 1})
	if !h.exists(t, first) {
		t.Fatal("the first container is gone although the engine has removed nothing yet")
	}
	allow()
	h.leaving.Wait()
	if h.exists(t, first) || !h.exists(t, second) {
		t.Error("the first container is still there, or the second is not; want the second alone")
	}
}

func TestAFailedRemovalIsLogged(t *testing.T) {
	var log bytes.Buffer
	var able atomic.Bool
	h, _, box, allow := heldRemovals(t, slog.New(slog.NewTextHandler(&log, nil)), func() error {
		if able.Load() {
			return nil
		}
		return unable{}
	})
	defer allow()
	allow()
	h.remove(t, box)
	if said := log.String(); !strings.Contains(said, "removing a container") || !strings.Contains(said, box.Facts().Container) {
		t.Errorf("the log does not name the container:\n%s", said)
	}
	able.Store(true)
	if err := h.sites[0].engine.Remove(t.Context(), box.Facts().Container); err != nil {
		t.Error(err)
	}
}

// unable is an engine's error for an operation that it cannot do.
type unable struct{}

func (unable) Error() string   { return "no" }
func (unable) StatusCode() int { return http.StatusInternalServerError }
