package docker_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// Support for disk quotas is probed with a container that is removed
// again. If the probe could not run, support is unknown.
func TestDiskLimitSupportIsProbed(t *testing.T) {
	refuses := func(status int, message string) http.HandlerFunc {
		return answer(status, map[string]string{"message": message})
	}
	one := answer(http.StatusOK, []any{map[string]any{"Id": stubID, "RepoTags": []string{stubImage}}})
	const goneID = "sha256:9999999999abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	two := answer(http.StatusOK, []any{map[string]any{"Id": goneID}, map[string]any{"Id": stubID}})
	noQuota := refuses(http.StatusInternalServerError, "--storage-opt is supported only for overlay over xfs")
	gone := func(w http.ResponseWriter, r *http.Request) {
		var asked container.CreateRequest
		if err := json.NewDecoder(r.Body).Decode(&asked); err == nil && asked.Image == goneID {
			refuses(http.StatusNotFound, "No such image: "+goneID)(w, r)
			return
		}
		noQuota(w, r)
	}
	for name, c := range map[string]struct {
		images, create http.HandlerFunc // nil is the stub's own
		able, known    bool
		failed         bool
		removed        int
	}{
		"a quota":                    {images: one, able: true, known: true, removed: 1},
		"no quota":                   {images: one, create: noQuota, known: true},
		"an image removed meanwhile": {images: two, create: gone, known: true},
		"another refusal":            {images: one, create: refuses(http.StatusInternalServerError, "no space left on device"), failed: true},
		"no image":                   {},
		"images are not had":         {images: refuses(http.StatusInternalServerError, "a broken store"), failed: true},
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
				t.Errorf("able %v, known %v, %v; want able %v, known %v, an error: %v",
					able, known, err, c.able, c.known, c.failed)
			}
			if c.failed && fault.KindOf(err) == fault.Unknown {
				t.Errorf("got an error without a kind: %v, want a kind when c.failed", err)
			}
			if n := s.count("DELETE /containers/*"); n != c.removed {
				t.Errorf("%d containers are removed, want %d", n, c.removed)
			}
			if c.removed > 0 && !asksForDisk(s.made) {
				t.Errorf("the probe's create requests are %+v", s.made)
			}
		})
	}
}

func asksForDisk(made []container.CreateRequest) bool {
	return len(made) == 1 && made[0].HostConfig.StorageOpt["size"] != "" && made[0].Image == stubID
}

// An empty list differs from no answer.
func TestAListFromAnUnreachableEngineIsAFault(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, 10*time.Millisecond, func(c *docker.Config) { c.Patience = 20 * time.Millisecond })
	for _, call := range []string{"GET /images/json", "HEAD /_ping", "GET /containers/json"} {
		s.say(call, s.hang)
	}
	_, _ = e.Images(t.Context()) // detects that the engine hangs
	before := s.count("GET /containers/json")
	if list, err := e.Owned(soon(t)); fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
		t.Errorf("owned are %v, %v; want a Host fault, a hint", list, err)
	}
	if list, err := engine.Leftovers(soon(t), docker.Sandboxes{Engine: e}, "/lease"); fault.KindOf(err) != fault.Host {
		t.Errorf("left are %v, %v; want a Host fault", list, err)
	}
	if img, here, err := e.Image(soon(t), stubImage, ""); fault.KindOf(err) != fault.Host || here {
		t.Errorf("the image is %v, %v; want a Host fault, no image", img, err)
	}
	if n := s.count("GET /containers/json"); n != before {
		t.Errorf("a hanging engine was called %d times, want none", n-before)
	}
}
