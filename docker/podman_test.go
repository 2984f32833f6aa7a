package docker_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
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
	root, err := enginetest.Root(strings.Fields(tools), nil)
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.NewClientWithOpts(client.WithHost(host), client.WithAPIVersionNegotiation())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = api.ImageRemove(context.Background(), podmanImage, image.RemoveOptions{Force: true})
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
	e, err := docker.Connect(t.Context(), docker.Config{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestPodmanServesAsAnEngine(t *testing.T) {
	e := podman(t)
	c := start(t, e, docker.Spec{Image: podmanImage, Memory: 64 << 20, WorkDir: "/testbed"})
	for _, tt := range []struct {
		script, output string
		code           int
	}{
		{"pwd; echo err >&2; printf 'a\\r\\n\\377'", "/testbed\nerr\na\r\n\xff", 0},
		{"exit 44", "", 44},
		{"kill -9 $$", "", 137},
		{"nosuch 2>/dev/null", "", 127},
		{"echo kept >file; cat file", "kept\n", 0},
	} {
		r, err := c.Run(t.Context(), docker.Command{Script: tt.script})
		if err != nil || string(r.Output) != tt.output || r.ExitCode != tt.code {
			t.Errorf("%s: %q, exit code %d, %v", tt.script, r.Output, r.ExitCode, err)
		}
	}
	r, err := c.Run(t.Context(), docker.Command{
		Script: "echo part; setsid sleep 600 & sleep 600", Timeout: 2 * time.Second,
	})
	if err != nil || !r.TimedOut || string(r.Output) != "part\n" {
		t.Errorf("a time-out: %+v, %v", r, err)
	}
	if err := c.CopyIn(t.Context(), "/testbed/in", 0o600, []byte("\x00in\xff")); err != nil {
		t.Error(err)
	}
	if out, err := c.CopyOut(t.Context(), "/testbed/in"); err != nil || string(out) != "\x00in\xff" {
		t.Errorf("copied back %q, %v", out, err)
	}
	if err := c.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.Run(t.Context(), docker.Command{Script: "true"}); fault.KindOf(err) != fault.Transient {
		t.Errorf("a command in a removed container: %v", err)
	}
	owned, err := e.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range owned {
		if s.ID == c.ID() {
			t.Errorf("still there: %+v", s)
		}
	}
}
