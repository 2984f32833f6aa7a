package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/versions"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
)

// building returns an engine that builds an image from these files, and the image's name. BASE in a
// Dockerfile is the image of these tests.
func building(t *testing.T, limit time.Duration, files map[string]string) (*docker.Engine, string) {
	t.Helper()
	dir, name := t.TempDir(), "batch-task/"+strings.ReplaceAll(ownImage(), "/", "-")
	for file, text := range files {
		path := filepath.Join(dir, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(strings.ReplaceAll(text, "BASE", testImage(t))), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	e := connect(t)
	e.Builds = map[string]engine.Build{name: {Folder: dir, Limit: limit}}
	removeLater(t, name)
	return e, name
}

func TestAnImageIsBuiltOnceWhereItWouldBePulled(t *testing.T) {
	t.Parallel()
	e, name := building(t, time.Minute, map[string]string{
		"Dockerfile":    "FROM BASE\nCOPY . /context\nWORKDIR /context\nUSER 1000:1000\nENTRYPOINT [\"/bin/true\", \"x\"]\n",
		"kept/a":        "kept",
		"left/b":        "left out",
		".dockerignore": "# comment\nleft\n*.log\n!kept.log\n",
		"some.log":      "left out",
		"kept.log":      "kept",
	})
	var all sync.WaitGroup
	ids := make([]string, 3)
	for i := range ids {
		all.Go(func() {
			img, err := e.Ensure(t.Context(), name, "", nil)
			if err != nil {
				t.Error(err)
			}
			ids[i] = img.ID
			if img.User != "1000:1000" || img.WorkDir != "/context" || len(img.Entrypoint) != 2 {
				t.Errorf("the image's settings are %+v", img.Config)
			}
		})
	}
	all.Wait()
	if ids[0] == "" || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("images %q, want one", ids)
	}
	c := start(t, e, engine.Spec{Image: name})
	out, err := c.Run(t.Context(), box.Command{Script: `shopt -s globstar dotglob; for f in ./**; do [ -d "$f" ] || echo "$f"; done`})
	if want := "./.dockerignore\n./Dockerfile\n./kept.log\n./kept/a\n"; err != nil || string(out.Bytes) != want {
		t.Errorf("in the image are %q, %v; want %q", out.Bytes, err, want)
	}
}

func TestABuildThatFailsSaysWhatItsCommandPrinted(t *testing.T) {
	t.Parallel()
	e, name := building(t, time.Minute, map[string]string{"Dockerfile": "FROM BASE\nSHELL [\"bash\", \"-c\"]\nRUN echo the reason; exit 3\n"})
	_, err := e.Ensure(t.Context(), name, "", nil)
	if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "exit code: 3") || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("%v: %v; want the instance's fault, with the reason", fault.KindOf(err), err)
	}
}

func TestABuildHasALimit(t *testing.T) {
	t.Parallel()
	e, name := building(t, 2*time.Second, map[string]string{"Dockerfile": "FROM BASE\nSHELL [\"bash\", \"-c\"]\nRUN sleep 100\n"})
	_, err := e.Ensure(t.Context(), name, "", nil)
	if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "not finished within 2s") || !strings.Contains(fault.HintOf(err), "--timeout-multiplier") {
		t.Errorf("%v: %v; want the instance's fault, with the limit and what raises it", fault.KindOf(err), err)
	}
}

func TestACanceledBuildEnds(t *testing.T) {
	t.Parallel()
	e, name := building(t, 0, map[string]string{"Dockerfile": "FROM BASE\nSHELL [\"bash\", \"-c\"]\nRUN sleep 100\n"})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	began := time.Now()
	if _, err := e.Ensure(ctx, name, "", nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Minute {
		t.Errorf("%v after %v, want the end of its context", err, time.Since(began))
	}
}

func TestADockerfileThatTheBuilderCannotReadIsRefused(t *testing.T) {
	t.Parallel()
	e, name := building(t, time.Minute, map[string]string{"Dockerfile": "FROM BASE\nRUN <<EOF\ntouch /a\nEOF\n"})
	about, err := e.About(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Ensure(t.Context(), name, "", nil)
	if versions.LessThan(about.APIVersion, "1.42") {
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "here-documents") {
			t.Errorf("%v: %v; want the instance's fault, with the reason", fault.KindOf(err), err)
		}
	} else if err != nil {
		t.Errorf("on an engine that knows here-documents: %v", err)
	}
}
