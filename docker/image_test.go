package docker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker/containers"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// newStub returns a registry whose image is removed from the engine at the end.
func newStub(t testing.TB) *registrytest.Stub {
	t.Helper()
	s := registrytest.NewStub(t)
	removeLater(t, s.Ref())
	return s
}

// removeLater removes an image from the engine at the end of the test.
func removeLater(t testing.TB, ref string) {
	t.Cleanup(func() {
		_, _ = raw(t).ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true})
	})
}

func TestAnImageIsPulledForTheRequestedPlatform(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	r := newStub(t)
	r.Offer(t, "amd64", "arm64")
	var ids []string
	for _, arch := range []string{"arm64", "amd64", "arm64"} { // each time the engine has one for another platform
		img, err := e.Ensure(t.Context(), r.Ref(), "linux/"+arch, nil)
		if err != nil {
			t.Fatal(err)
		}
		removeLater(t, img.ID)
		if img.Arch != arch {
			t.Errorf("asked for %s, got %s; want arch %v", arch, img.Arch, arch)
		}
		ids = append(ids, img.ID)
		if _, here, err := e.Image(t.Context(), r.Ref(), "linux/"+arch); err != nil || !here {
			t.Errorf("%s is not here: %v; want the image, no error", arch, err)
		}
		// There is no bash in it to run, so the engine may report a fault because it does not start.
		c, err := e.Create(t.Context(), engine.Spec{Image: r.Ref(), ImageID: img.ID, Platform: "linux/" + arch})
		if err == nil {
			err = c.Remove(t.Context())
		}
		if err != nil && !strings.Contains(fault.HintOf(err), "bash") {
			t.Errorf("a container of it: %v: %v; want no error, or %q in its hint", fault.KindOf(err), err, "bash")
		}
		list, err := e.Images(t.Context())
		if err != nil || !slices.ContainsFunc(list, func(i images.Image) bool { return i.ID == img.ID }) {
			t.Errorf("%s is not among the images: %v", img.ID, err)
		}
	}
	if ids[0] != ids[2] { // in containerd's image store all platforms of a name have one id
		t.Errorf("ids %q, want the last equal to the first", ids)
	}
	before := r.ManifestGets.Load()
	if _, err := e.Ensure(t.Context(), r.Ref(), "linux/aarch64", nil); err != nil || r.ManifestGets.Load() != before {
		t.Errorf("an image on the engine was pulled again: %v", err)
	}
}

func TestAnImageForAnotherPlatformIsRefused(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	r := newStub(t)
	r.Fault = registrytest.Refuse(404, "MANIFEST_UNKNOWN", "manifest unknown")
	if err := raw(t).ImageTag(t.Context(), testImage(t), r.Ref()); err != nil {
		t.Fatal(err)
	}
	img, err := e.Ensure(t.Context(), r.Ref(), "linux/s390x", nil)
	if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "exists for linux/amd64, not for linux/s390x") ||
		!strings.Contains(fault.HintOf(err), "--platform") {
		t.Errorf("%+v, %v: %v; hint %q", img, fault.KindOf(err), err, fault.HintOf(err))
	}
	_, err = e.Create(t.Context(), engine.Spec{Image: testImage(t), Platform: "linux/s390x"})
	if fault.KindOf(err) != fault.Instance || !strings.Contains(fault.HintOf(err), "linux/s390x") {
		t.Errorf("got a fault of kind %v: %v; hint %q; want an Instance fault, %q", fault.KindOf(err), err, fault.HintOf(err), "linux/s390x")
	}
	if _, _, err := e.Image(t.Context(), testImage(t), "arm64"); fault.KindOf(err) != fault.Usage {
		t.Errorf("half a platform: %v: %v; want a Usage fault", fault.KindOf(err), err)
	}
}

func TestAnImageForAnotherPlatformIsNotSaidToBeMissing(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	for _, ref := range []string{stubImage, "calc"} { // the second without an owner, which gets a hint of its own
		for said, want := range map[string]fault.Kind{"no space left on device": fault.Host, "never seen before": fault.Transient} {
			s.say("POST /images/create", answer(http.StatusInternalServerError, map[string]string{"message": said}))
			_, err := e.Ensure(soon(t), ref, "linux/arm64", nil)
			text := "image " + ref + " exists for linux/amd64, not for linux/arm64, and could not be pulled: Error response from daemon: " + said
			if fault.KindOf(err) != want || err.Error() != text || errors.Is(err, syscall.ENOSPC) != (want == fault.Host) {
				t.Errorf("%v: %v; want %v: %s", fault.KindOf(err), err, want, text)
			}
		}
	}
}

// Like an engine, the stub has one image per name: the last one pulled.
func TestPullsForTwoPlatformsRunOneAfterTheOther(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	var mu sync.Mutex
	has := "s390x"
	s.say("GET /images/*/json", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer(http.StatusOK, map[string]any{"Id": has, "Os": "linux", "Architecture": has})(w, r)
	})
	pulling := 0
	s.say("POST /images/create", func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		pulling++
		if pulling > 1 {
			t.Error("two pulls of one name at the same time")
		}
		mu.Unlock()
		time.Sleep(10 * time.Millisecond) // time for another to begin
		mu.Lock()
		defer mu.Unlock()
		pulling--
		has = strings.TrimPrefix(r.FormValue("platform"), "linux/")
	})
	var all sync.WaitGroup
	for i := range 20 {
		want := []string{"amd64", "arm64"}[i%2]
		all.Go(func() {
			img, err := e.Ensure(soon(t), stubImage, "linux/"+want, nil)
			if err != nil || img.Arch != want || img.ID != want {
				t.Errorf("asked for %s, got %+v, %v; want arch %v, ID %v, no error", want, img, err, want, want)
			}
		})
	}
	all.Wait()
	if n := s.count("POST /images/create"); n < 2 {
		t.Errorf("%d pulls for two platforms, want 2", n)
	}
}

// A dry run asks about all images of a dataset.
func TestPresentAsksOnlyForWhatAListedNameMayBe(t *testing.T) {
	tier.Rest(t)
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	s.say("GET /images/json", answer(http.StatusOK, []any{
		map[string]any{"Id": stubID, "RepoTags": []string{stubImage, "localhost/mine:latest"}},
	}))
	want := map[string]bool{stubImage: true, "other.example/thing:1": true, "mine": true, stubID: true, "a/b@" + stubID: true, "NO NAME": false}
	asked := len(want) - 1
	for i := range 500 {
		want[fmt.Sprintf("stub.example/thing%d:1", i)] = false
	}
	got, err := e.Present(soon(t), slices.Collect(maps.Keys(want)), "linux/amd64")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, want no error (-want +got):\n%s", err, diff)
	}
	if lists, single := s.count("GET /images/json"), s.count("GET /images/*/json"); lists != 1 || single != asked {
		t.Errorf("%d lists and %d questions, want 1 and %d", lists, single, asked)
	}
	if _, err := e.Present(soon(t), nil, "linux"); fault.KindOf(err) != fault.Usage {
		t.Errorf("a platform without an architecture: %v", err)
	}
}

// imageOf makes an image of the given files, with changes in the form of a Dockerfile; it
// is removed at the end of the test.
func imageOf(t *testing.T, programs []string, files map[string]string, changes ...string) string {
	t.Helper()
	root, err := enginetest.Root(programs, files)
	if err != nil {
		t.Fatal(err)
	}
	api, name := raw(t), ownImage()
	body, err := api.ImageImport(t.Context(), image.ImportSource{Source: bytes.NewReader(root), SourceName: "-"}, name,
		image.ImportOptions{Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := api.ImageRemove(context.Background(), name, image.RemoveOptions{}); err != nil {
			t.Error(err)
		}
	})
	return name
}

// An image needs only the interpreter of its commands: neither bash nor
// system programs, nor root.
func TestAnImageWithoutBashCanRun(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		enginetest.Lacks(t, "no busybox is installed; alpine's shell is its ash")
	}
	ash, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]string{
		"ash":  imageOf(t, nil, map[string]string{"usr/bin/sh": string(ash)}),
		"dash": imageOf(t, []string{"dash"}, map[string]string{"usr/bin/sh": "#!/usr/bin/dash\nexec /usr/bin/dash \"$@\"\n"}),
	}
	if _, err := exec.LookPath("dash"); err != nil {
		delete(images, "dash")
	}
	for shell, name := range images {
		for _, user := range []string{"", "12345:1"} {
			t.Run(shell+" "+user, func(t *testing.T) {
				c := start(t, e, engine.Spec{Image: name, User: user, WorkDir: "/testbed", Memory: 64 << 20})
				do := func(script string, limit time.Duration) vocab.Output {
					return runCommand(t, c, containers.Command{Args: []string{"sh", "-c"}, Script: script, Timeout: limit, Ahead: true})
				}
				if r := do("echo out; echo err >&2; pwd; read x; exit 3", time.Minute); string(r.Bytes) != "out\nerr\n/testbed\n" || r.ExitCode != 3 {
					t.Errorf("got %+v, %q; want output %q, exit code 3", r, r.Bytes, "out\nerr\n/testbed\n")
				}
				if r := do("while :; do :; done & while :; do :; done", 200*time.Millisecond); !r.TimedOut || r.Restarted {
					t.Errorf("got %+v, %q; want timed out true, restarted false", r, r.Bytes)
				}
				if r := do("kill -9 -1; kill -9 $$", time.Minute); r.ExitCode != 137 {
					t.Errorf("got %+v, %q; want exit code 137", r, r.Bytes)
				}
				if err := c.CopyIn(t.Context(), "/tmp/in", 0o600, []byte("\x00")); err != nil {
					t.Error(err)
				}
				if r := do("test -s /tmp/in && echo there; kill -9 1; echo on", time.Minute); string(r.Bytes) != "there\non\n" {
					t.Errorf("got %+v, %q; want output %q", r, r.Bytes, "there\non\n")
				}
				if r, err := c.Run(t.Context(), containers.Command{Script: "echo own"}); err != nil || string(r.Bytes) != "own\n" {
					t.Errorf("batch's own script without bash: %q, %v", r.Bytes, err)
				}
				for _, shell := range []string{"bash", "fish"} {
					_, err := c.Run(t.Context(), containers.Command{Args: []string{shell, "-c"}, Script: "true"})
					if fault.KindOf(err) != fault.Instance || !strings.Contains(fault.HintOf(err), "set `environment.interpreter`") {
						t.Errorf("without %s: %v; hint %q; want an Instance fault that another interpreter mends", shell, err, fault.HintOf(err))
					}
				}
			})
		}
	}
}

// An image that somebody removed in between can be pulled again.
func TestAnImageRemovedBeforeCreateIsATransientFault(t *testing.T) {
	s := newEngineStub(t)
	e := s.connect(t, time.Hour)
	s.say("POST /containers/create", answer(http.StatusNotFound, map[string]string{"message": "No such image: " + stubID}))
	for id, want := range map[string]fault.Kind{"": fault.Instance, stubID: fault.Transient} {
		_, err := e.Create(t.Context(), engine.Spec{Image: stubImage, ImageID: id})
		if fault.KindOf(err) != want || fault.HintOf(err) == "" {
			t.Errorf("with id %q: got %v: %v; want fault kind %v, a hint", id, fault.KindOf(err), err, want)
		}
	}
}
