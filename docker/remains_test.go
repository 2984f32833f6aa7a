package docker_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"batch.example/batch/docker/containers"
)

// As with docker exec, what a command has started lives on when its shell is killed.
func TestWhatACommandStartedOutlivesTheShellThatItKills(t *testing.T) {
	t.Parallel()
	c := start(t, connect(t), containers.Spec{})
	r := run(t, c, "sleep 7002 & (setsid nohup sleep 7004 &); kill -9 $$; sleep 7005")
	if r.ExitCode != 137 || r.TimedOut {
		t.Fatalf("%+v", r)
	}
	for len(processes(t, c)) < 2 { // the second one may still be becoming what it is
		if t.Context().Err() != nil {
			t.Fatal("one is gone")
		}
	}
	if left := processes(t, c); len(left) != 2 {
		t.Errorf("running: %q", left)
	}
}

// Volumes that an image declares are anonymous: nobody would ever find them again.
func TestAnonymousVolumesGoWithTheirContainer(t *testing.T) {
	t.Parallel()
	e := connect(t)
	api, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	c := start(t, e, containers.Spec{Image: imageOf(t, strings.Fields(tools), nil, "ENV PATH=/usr/bin:/bin", "VOLUME /data")})
	in, err := api.ContainerInspect(t.Context(), c.ID())
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, m := range in.Mounts {
		if m.Destination == "/data" {
			name = m.Name
		}
	}
	if name == "" {
		t.Fatalf("mounts %+v", in.Mounts)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := api.VolumeInspect(t.Context(), name); !errdefs.IsNotFound(err) {
		t.Errorf("the volume is still there: %+v, %v", v, err)
	}
}

func TestARemovalIsForcedAndTakesTheVolumes(t *testing.T) {
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
		t.Errorf("asked with %q", got)
	}
}

// A removal that meets another one waits for it: a container is gone when Remove returns.
func TestARemovalWaitsForTheOneUnderWay(t *testing.T) {
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
		t.Errorf("%v after %d calls", err, n)
	}
}

// A create that was refused left nothing; of one that got no answer it is not
// known, so that what may have come of it is removed by its name.
func TestOnlyACreateWithoutAnAnswerIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		create func(*stub) http.HandlerFunc
		want   int // removals
	}{
		"refused": {func(*stub) http.HandlerFunc {
			return answer(http.StatusBadRequest, map[string]string{"message": "no such option"})
		}, 0},
		"a fault of the engine": {func(*stub) http.HandlerFunc {
			return answer(http.StatusInternalServerError, map[string]string{"message": "it broke"})
		}, 0},
		"silence": {func(s *stub) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				s.hang(w, r)
			}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEngineStub(t)
			e := s.connect(t, 100*time.Millisecond)
			s.say("POST /containers/create", c.create(s))
			if made, err := e.Create(t.Context(), containers.Spec{Image: stubImage, Name: "mine"}); err == nil {
				t.Errorf("made %s", made.ID())
			}
			if n := s.count("DELETE /containers/*"); n != c.want {
				t.Errorf("%d removals, want %d", n, c.want)
			}
		})
	}
}
