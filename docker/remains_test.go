package docker_test

import (
	"net/http"
	"testing"
	"time"

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

// A refused create left nothing; whether one without an answer did is
// unknown, so a container with its name is removed.
func TestOnlyACreateWithoutAnAnswerIsUndone(t *testing.T) {
	for name, c := range map[string]struct {
		limit  time.Duration
		create func(*stub) http.HandlerFunc
		want   int // number of removals
	}{
		"refused": {time.Hour, func(*stub) http.HandlerFunc {
			return answer(http.StatusBadRequest, map[string]string{"message": "no such option"})
		}, 0},
		"a fault of the engine": {time.Hour, func(*stub) http.HandlerFunc {
			return answer(http.StatusInternalServerError, map[string]string{"message": "it broke"})
		}, 0},
		"silence": {100 * time.Millisecond, func(s *stub) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				s.hang(w, r)
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEngineStub(t)
			e := s.connect(t, c.limit)
			s.say("POST /containers/create", c.create(s))
			if made, err := e.Create(t.Context(), engine.Spec{Image: stubImage, Name: "mine"}); err == nil {
				t.Errorf("made %s, want an error", made.ID())
			}
			if n := s.count("DELETE /containers/*"); n != c.want {
				t.Errorf("%d removals, want %d", n, c.want)
			}
		})
	}
}
