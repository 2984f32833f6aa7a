package docker_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// diskEngine returns an engine without disk limits of its own.
func diskEngine(t *testing.T) *docker.Engine {
	t.Helper()
	e := connect(t)
	testImage(t)
	able, known, err := e.LimitsDisk(t.Context())
	if err != nil || !known {
		t.Fatalf("known %v, %v; want known true, no error", known, err)
	}
	if able {
		t.Skip("this engine has quotas")
	}
	return e
}

const fill = "head -c 200000000 /dev/zero >/big; sleep 600"

func TestAContainerThatFillsItsDiskDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	e := diskEngine(t)
	c, other := start(t, e, engine.Spec{Disk: 64 << 20}), start(t, e, engine.Spec{Disk: 64 << 20})
	ended := make(chan vocab.Output, 1)
	go func() {
		r, err := other.Run(t.Context(), containers.Command{Script: "head -c 30000000 /dev/zero >/small; until [ -e /end ]; do sleep 0.1; done"})
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	for range 2 {
		r := runCommand(t, c, containers.Command{Script: "echo part; " + fill, Timeout: enough})
		if r.TimedOut || r.ExitCode != 137 || string(r.Bytes) != "part\n" || r.Disk == nil || !r.Disk.Killed || r.Disk.Left != 3 || r.Disk.Used <= r.Disk.Limit {
			t.Errorf("got %+v, %+v, %q; want timed out false, exit code 137, output %q, a disk, killed true, rest 3, used more than %v",
				r, r.Disk, r.Bytes, "part\n", r.Disk.Limit)
		}
		if r := run(t, c, "rm /big"); r.Disk != nil || r.ExitCode != 0 {
			t.Errorf("after freeing space: got %+v, disk %+v", r, r.Disk)
		}
	}
	for range 5 {
		if r := run(t, c, "echo fine"); string(r.Bytes) != "fine\n" || r.Disk != nil {
			t.Errorf("got %+v, %+v; want output %q, disk nil", r, r.Disk, "fine\n")
		}
	}
	if err := other.CopyIn(t.Context(), "/end", 0o644, nil); err != nil {
		t.Error(err)
	}
	if r := <-ended; r.ExitCode != 0 || r.Disk != nil {
		t.Errorf("the other container: %+v, %+v; want exit code 0, disk nil", r, r.Disk)
	}
}

// The agent may run a few commands to free space, and then none; the commands of
// batch that save its work are not refused.
func TestAContainerThatStaysAboveItsDiskLimitIsDestroyed(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := diskEngine(t)
	for name, script := range map[string]string{
		"in a command":     fill,
		"between commands": "(" + fill + ") >/dev/null 2>&1 & exit 137",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, e, engine.Spec{Disk: 64 << 20})
			r := runCommand(t, c, containers.Command{Script: script, Timeout: enough})
			if r.ExitCode != 137 {
				t.Errorf("got %+v, want exit code 137", r)
			}
			for end := time.Now().Add(enough); r.Disk == nil && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				r = run(t, c, "true") // until its disk was measured
			}
			if r.Disk == nil || !r.Disk.Killed {
				t.Fatalf("the kill is not reported: %+v, %+v; want a disk, killed true", r, r.Disk)
			}
			for left := 2; left >= 0; left-- {
				if r := run(t, c, "echo kept >/work; echo here"); string(r.Bytes) != "here\n" || r.Disk == nil || r.Disk.Left != left || r.Disk.Killed {
					t.Errorf("%+v, %+v, want %d left", r, r.Disk, left)
				}
			}
			if _, err := c.Run(t.Context(), containers.Command{Script: "true"}); !errors.Is(err, vocab.ErrDestroyed) {
				t.Errorf("got %v, want error %v", err, vocab.ErrDestroyed)
			}
			if r := run(t, c, "cat /work"); string(r.Bytes) != "kept\n" {
				t.Errorf("got %+v, want output %q", r, "kept\n")
			}
		})
	}
}

func TestAContainerThatKeepsGrowingAboveItsDiskLimitIsDestroyedAtOnce(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, diskEngine(t), engine.Spec{Disk: 64 << 20})
	for n := range 2 {
		script := "head -c 200000000 /dev/zero >/big; sleep 600"
		if n > 0 {
			script = "head -c 200000000 /dev/zero >>/big; sleep 600"
		}
		r := runCommand(t, c, containers.Command{Script: script, Timeout: enough})
		if r.TimedOut || r.ExitCode != 137 || r.Disk == nil || !r.Disk.Killed || r.Disk.Left != 3*(1-n) {
			t.Errorf("got %+v, %+v; want timed out false, exit code 137, a disk, killed true, rest %v", r, r.Disk, 3*(1-n))
		}
	}
	if _, err := c.Run(t.Context(), containers.Command{Script: "true"}); !errors.Is(err, vocab.ErrDestroyed) {
		t.Errorf("got %v, want error %v", err, vocab.ErrDestroyed)
	}
}

// An engine is asked for a quota, and not again once it has refused one.
func TestADiskLimitOfTheStorageDriverIsUsed(t *testing.T) {
	tier.Rest(t)
	for _, able := range []bool{true, false} {
		s := newEngineStub(t)
		var asked []string
		s.say("POST /containers/create", func(w http.ResponseWriter, r *http.Request) {
			var c container.CreateRequest
			if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
				t.Error(err)
			}
			s.keep(c)
			size := c.HostConfig.StorageOpt["size"]
			asked = append(asked, size)
			if size != "" && !able {
				answer(http.StatusInternalServerError, map[string]string{
					"message": "--storage-opt is supported only for overlay over xfs with 'pquota' mount option",
				})(w, r)
				return
			}
			answer(http.StatusCreated, map[string]string{"Id": stubBox})(w, r)
		})
		e := s.connect(t, time.Minute)
		for range 2 {
			c, err := e.Create(t.Context(), engine.Spec{Image: stubImage, Disk: 1 << 30})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		}
		want := 2
		if !able {
			want = 3
		}
		if len(asked) != want || asked[0] != "1073741824" || (asked[1] == "") == able {
			t.Errorf("quotas supported %v: requested sizes %q", able, asked)
		}
	}
}

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
