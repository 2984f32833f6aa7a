package docker_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
)

// Whether there are disk quotas is found out by trying, and nothing is left of
// that. What could not be tried is not known.
func TestWhetherDisksAreLimitedIsFoundOutByTrying(t *testing.T) {
	refuses := func(status int, message string) http.HandlerFunc {
		return answer(status, map[string]string{"message": message})
	}
	one := answer(http.StatusOK, []any{map[string]any{"Id": stubID, "RepoTags": []string{stubImage}}})
	for name, c := range map[string]struct {
		images, create http.HandlerFunc // nil is the stub's own
		able, known    bool
		failed         bool
		removed        int
	}{
		"a quota":            {images: one, able: true, known: true, removed: 1},
		"no quota":           {images: one, create: refuses(http.StatusInternalServerError, "--storage-opt is supported only for overlay over xfs"), known: true},
		"another refusal":    {images: one, create: refuses(http.StatusInternalServerError, "no space left on device"), failed: true},
		"no image":           {},
		"images are not had": {images: refuses(http.StatusInternalServerError, "a broken store"), failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newEngineStub(t)
			e := s.connect(t, time.Minute)
			if c.images != nil {
				s.say("GET /images/json", c.images)
			}
			if c.create != nil {
				s.say("POST /containers/create", c.create)
			}
			able, known, err := e.LimitsDisk(t.Context())
			if able != c.able || known != c.known || (err != nil) != c.failed {
				t.Errorf("able %v, known %v, %v", able, known, err)
			}
			if c.failed && fault.KindOf(err) == fault.Unknown {
				t.Errorf("nobody is blamed: %v", err)
			}
			if n := s.count("DELETE /containers/*"); n != c.removed {
				t.Errorf("%d containers are removed, want %d", n, c.removed)
			}
			if c.removed > 0 && !asksForDisk(s.made) {
				t.Errorf("asked for %+v", s.made)
			}
		})
	}
}

func asksForDisk(made []container.CreateRequest) bool {
	return len(made) == 1 && made[0].HostConfig.StorageOpt["size"] != "" && made[0].Image == stubID
}

// Nothing is there is another answer than nothing was heard.
func TestAnEngineThatIsNotWaitedForHasNoEmptyList(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, 10*time.Millisecond, func(c *docker.Config) { c.Patience = 20 * time.Millisecond })
	for _, call := range []string{"GET /images/json", "HEAD /_ping", "GET /containers/json"} {
		s.say(call, s.hang)
	}
	_, _ = e.Images(t.Context()) // finds out that the engine hangs
	before := s.count("GET /containers/json")
	if list, err := e.Owned(soon(t)); fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
		t.Errorf("owned are %v, %v", list, err)
	}
	if list, err := e.Leavings(soon(t), "/lease"); fault.KindOf(err) != fault.Host {
		t.Errorf("left are %v, %v", list, err)
	}
	if img, here, err := e.Image(soon(t), stubImage, ""); fault.KindOf(err) != fault.Host || here {
		t.Errorf("the image is %v, %v", img, err)
	}
	if n := s.count("GET /containers/json"); n != before {
		t.Errorf("an engine that is away is asked %d times", n-before)
	}
}
