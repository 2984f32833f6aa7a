package docker_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"

	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

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
				_, err := c.Run(t.Context(), containers.Command{Script: "true"})
				if fault.KindOf(err) != fault.Instance || !strings.Contains(fault.HintOf(err), "install bash in the image") || strings.Contains(fault.HintOf(err), "set `environment.interpreter`") {
					t.Errorf("without bash: %v; hint %q; want an Instance fault that another interpreter would not mend", err, fault.HintOf(err))
				}
				_, err = c.Run(t.Context(), containers.Command{Args: []string{"fish", "-c"}, Script: "true"})
				if fault.KindOf(err) != fault.Instance || !strings.Contains(fault.HintOf(err), "set `environment.interpreter`") {
					t.Errorf("without fish: %v; hint %q; want an Instance fault that another interpreter mends", err, fault.HintOf(err))
				}
			})
		}
	}
}
