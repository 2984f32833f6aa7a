package docker_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
)

const podmanImage = "localhost/batch-podman:test"

// podman returns the engine at BATCH_PODMAN_HOST, such as
// unix:///run/podman/podman.sock, with podmanImage in it.
func podman(t *testing.T) *docker.Engine {
	t.Helper()
	host := os.Getenv("BATCH_PODMAN_HOST")
	if host == "" {
		t.Skip("BATCH_PODMAN_HOST names no socket")
	}
	root, err := enginetest.Root(strings.Fields(conformance.Tools), nil)
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{podmanImage, podmanImage + "-too"} {
			_, _ = api.ImageRemove(context.Background(), name, image.RemoveOptions{Force: true})
		}
		_ = api.Close()
	})
	said, err := api.ImageImport(t.Context(), image.ImportSource{Source: bytes.NewReader(root), SourceName: "-"},
		podmanImage, image.ImportOptions{Changes: []string{"ENV PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, said); err != nil {
		t.Fatal(err)
	}
	_ = said.Close()
	// For an image with several names Podman requires one of them.
	if err := api.ImageTag(t.Context(), podmanImage, podmanImage+"-too"); err != nil {
		t.Fatal(err)
	}
	e, err := docker.Connect(t.Context(), docker.Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestPodmanWorksAsAnEngine(t *testing.T) { // not parallel: the tests share an image
	e := podman(t)
	img, here, err := e.Image(t.Context(), podmanImage, "linux/"+runtime.GOARCH)
	if err != nil || !here {
		t.Fatal(here, err)
	}
	c := start(t, e, engine.Spec{Image: podmanImage, ImageID: img.ID, Memory: 64 << 20, CPUs: 1, WorkDir: "/testbed"})
	if c.ImageID() != img.ID {
		t.Errorf("the container was created from %s, want %s as looked up", c.ImageID(), img.ID)
	}
	for _, tt := range []struct {
		script, output string
		code           int
	}{
		{"pwd; echo err >&2; printf 'a\\r\\n\\377'", "/testbed\nerr\na\r\n\xff", 0},
		{"exit 44", "", 44},
		{"kill -9 $$", "", 137},
		{"nosuch 2>/dev/null", "", 127},
		{"echo kept >file; cat file", "kept\n", 0},
		{"echo $HOSTNAME; while read -r a n; do [[ $n == *$HOSTNAME* ]] && echo $a; done </etc/hosts | head -1", "sandbox\n127.0.0.1\n", 0},
	} {
		r, err := c.Run(t.Context(), containers.Command{Script: tt.script})
		if err != nil || string(r.Bytes) != tt.output || r.ExitCode != tt.code {
			t.Errorf("%s: got %q, exit code %d, %v; want output %q, exit code %v, no error",
				tt.script, r.Bytes, r.ExitCode, err, tt.output, tt.code)
		}
	}
	r, err := c.Run(t.Context(), containers.Command{
		Script: "echo part; setsid sleep 600 & sleep 600", Timeout: 2 * time.Second,
	})
	if err != nil || !r.TimedOut || string(r.Bytes) != "part\n" {
		t.Errorf("a time-out: %+v, %v; want timed out true, output %q, no error", r, err, "part\n")
	}
	if err := c.CopyIn(t.Context(), "/testbed/in", 0o600, []byte("\x00in\xff")); err != nil {
		t.Error(err)
	}
	if out, err := c.CopyOut(t.Context(), "/testbed/in"); err != nil || string(out) != "\x00in\xff" {
		t.Errorf("copied back %q, %v; want output %q, no error", out, err, "\x00in\xff")
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Run(t.Context(), containers.Command{Script: "true"}); fault.KindOf(err) != fault.Transient {
		t.Errorf("a command in a removed container: got %v, want a Transient fault", err)
	}
	owned, err := e.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, here, err := e.Image(t.Context(), podmanImage, "linux/s390x"); here || err != nil {
		t.Errorf("an image for another platform: found %v, error %v", here, err)
	}
	for _, s := range owned {
		if s.ID == c.ID() {
			t.Errorf("still there: %+v, want ID other than %v", s, c.ID())
		}
	}
}

func TestPodmanContainersHaveBoxinit(t *testing.T) {
	tier.Rest(t)
	e := podman(t)
	_, api := at(t, e.Host())
	for name, change := range boxes {
		t.Run(name, func(t *testing.T) {
			id, _ := boxed(t, e, api, podmanImage, change)
			runsInit(t, api, id, "pid,args")
		})
	}
	if there, err := e.Init.Remove(t.Context()); !there || err != nil {
		t.Errorf("removed %v, %v; want there true, no error", there, err)
	}
	id, lacked := boxed(t, e, api, podmanImage, nil)
	if !lacked {
		t.Error("the volume was not missing, want it removed before the start")
	}
	runsInit(t, api, id, "pid,args")
	if there, err := e.Init.Remove(t.Context()); there || err != nil {
		t.Errorf("the volume in use was removed: %v, %v", there, err)
	}
	if err := api.ContainerRemove(t.Context(), id, container.RemoveOptions{Force: true}); err != nil {
		t.Error(err)
	}
	if there, err := e.Init.Remove(t.Context()); !there || err != nil {
		t.Errorf("the unused volume: removed %v, error %v", there, err)
	}
}
