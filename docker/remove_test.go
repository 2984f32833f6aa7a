package docker_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

func TestARemovalIsForcedAndRemovesVolumes(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	asked := make(chan string, 1)
	s.say("DELETE /containers/*", func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Encode()
		w.WriteHeader(http.StatusNoContent)
	})
	if err := e.Remove(t.Context(), stubBox); err != nil {
		t.Fatal(err)
	}
	if got := <-asked; got != "force=1&v=1" {
		t.Errorf("asked with %q, want %q", got, "force=1&v=1")
	}
}

// A removal waits for one under way: a container is gone when Remove returns.
func TestARemovalWaitsForARemovalUnderWay(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	answers := []int{http.StatusConflict, http.StatusConflict, http.StatusNotFound}
	n := 0
	s.say("DELETE /containers/*", func(w http.ResponseWriter, r *http.Request) {
		code := answers[min(n, len(answers)-1)]
		n++
		answer(code, map[string]string{"message": "removal is already in progress"})(w, r)
	})
	if err := e.Remove(t.Context(), stubBox); err != nil || n != 3 {
		t.Errorf("got %v after %d calls; want 3, no error", err, n)
	}
}

// A refused create left nothing. A create without an answer may still make its container, which is
// looked for until it exists; after a start, it exists.
func TestAFailedCreateIsUndone(t *testing.T) {
	tier.Rest(t)
	for name, c := range map[string]struct {
		call   string
		answer http.HandlerFunc // nil: none
		looks  int
	}{
		"refused":               {"POST /containers/create", answer(http.StatusBadRequest, map[string]string{"message": "no such option"}), 0},
		"a fault of the engine": {"POST /containers/create", answer(http.StatusInternalServerError, map[string]string{"message": "it broke"}), 0},
		"an unanswered create":  {"POST /containers/create", nil, 4},
		"an unanswered start":   {"POST /containers/*/start", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEngineStub(t)
			s.own["DELETE /containers/*"] = func(w http.ResponseWriter, r *http.Request) { // without a time limit here
				if s.count("DELETE /containers/*") < 4 {
					answer(http.StatusNotFound, map[string]string{"message": "No such container"})(w, r)
					return
				}
				w.WriteHeader(http.StatusNoContent)
			}
			limit := time.Hour
			if c.answer == nil {
				c.answer, limit = s.hang, 100*time.Millisecond
			}
			e := s.connect(t, limit)
			s.say(c.call, c.answer)
			_, err := e.Create(soon(t), engine.Spec{Image: stubImage, Name: "mine"})
			if err == nil || limit < time.Hour && fault.KindOf(err) != fault.Transient {
				t.Errorf("got a fault of kind %v: %v, want a Transient fault", fault.KindOf(err), err)
			}
			if n := s.count("DELETE /containers/*"); n != c.looks {
				t.Errorf("it is looked for %d times, want %d", n, c.looks)
			}
		})
	}
}

func TestRemovalsDoNotWaitForHangingCreates(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, time.Hour, func(c *docker.Config) { c.Creates = 2 })
	const callers = 5
	hanging := make(chan struct{}, callers)
	s.say("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
		hanging <- struct{}{}
		s.hang(w, r)
	})
	var creates sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer creates.Wait()
	defer s.resume()
	defer cancel()
	for range callers {
		creates.Go(func() {
			if c, err := e.Create(ctx, engine.Spec{Image: stubImage}); err == nil {
				_ = c.Remove(t.Context())
			}
		})
	}
	for range 2 { // as many as may be under way
		<-hanging
	}
	removed := make(chan error, 4)
	for range cap(removed) {
		go func() { removed <- e.Remove(t.Context(), stubBox) }()
	}
	for range cap(removed) {
		select {
		case err := <-removed:
			if err != nil {
				t.Error(err)
			}
		case <-soon(t).Done():
			t.Fatal("a removal waited for hanging creates")
		}
	}
}

func TestAnEngineThatMayHangRemovesOneContainerWithANetworkAtATime(t *testing.T) {
	tier.Rest(t)
	for _, tt := range []struct {
		api, network string
		want         int
	}{{"1.41", "some", 1}, {"1.41", "none", 3}, {"1.42", "some", 3}, {"1.51", "some", 3}} {
		api, want := tt.api, tt.want
		t.Run(api+" "+tt.network, func(t *testing.T) {
			s := newEngineStub(t)
			s.say("HEAD /_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("API-Version", api) })
			e := s.connect(t, time.Hour, func(c *docker.Config) { c.Creates = 3 })
			var now, most atomic.Int64
			var once sync.Once
			all := make(chan struct{}) // closed when the maximum is under way
			s.say("DELETE /containers/*", func(w http.ResponseWriter, _ *http.Request) {
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				if n == int64(want) {
					once.Do(func() { close(all) })
				}
				select {
				case <-all:
					time.Sleep(20 * time.Millisecond) // time for one more to begin
				case <-soon(t).Done():
				}
				now.Add(-1)
				w.WriteHeader(http.StatusNoContent)
			})
			var removals sync.WaitGroup
			for range 12 {
				c, err := e.Create(t.Context(), engine.Spec{Image: stubImage, Network: tt.network})
				if err != nil {
					t.Fatal(err)
				}
				removals.Go(func() {
					if err := c.Remove(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			removals.Wait()
			if most.Load() != int64(want) {
				t.Errorf("%d removals at a time, want %d", most.Load(), want)
			}
		})
	}
}
