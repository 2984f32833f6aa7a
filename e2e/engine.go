package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/docker"
)

// Connect returns the engine that runs of tests use, until the test has ended. Without one the
// test is skipped: see [NeedDocker].
func Connect(tb testing.TB) *docker.Engine {
	tb.Helper()
	NeedDocker(tb)
	home, _ := os.UserHomeDir()
	engine, err := docker.Connect(tb.Context(), docker.FromEnv(os.Getenv, home))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = engine.Close() })
	return engine
}

// DemoInstances returns the rows of the embedded dataset.
func DemoInstances(t testing.TB) []dataset.Instance {
	t.Helper()
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: "demo", Demo: demo.Files()})
	if err != nil {
		t.Fatal(err)
	}
	return ds.Instances
}

// MakeInContainers makes a file in the containers of the instances with that id prefix: see [MakeIn].
func MakeInContainers(t *testing.T, prefix, name string) {
	t.Helper()
	engine := Connect(t)
	owned, err := engine.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range owned {
		if !strings.HasPrefix(c.Instance, prefix) {
			continue
		}
		if err := MakeIn(t.Context(), c.ID, name); err != nil {
			t.Error(err)
		}
	}
}

// MakeIn makes a file in a container. What runs there may wait for the file, and its container may then
// end before the engine's answer, which is a failure of any kind: that is no error.
func MakeIn(ctx context.Context, container, name string) error {
	out, err := exec.CommandContext(ctx, "docker", "exec", container, "touch", name).CombinedOutput()
	if err == nil {
		return nil
	}
	state, _ := exec.CommandContext(ctx, "docker", "inspect", "--format", "{{.State.Running}}", container).Output()
	if strings.TrimSpace(string(state)) != "true" {
		return nil
	}
	return fmt.Errorf("making %s in container %s: %w\n%s", name, container, err, out)
}

// ContainersOf counts the containers of the instances with that id prefix.
func ContainersOf(t *testing.T, prefix string) int {
	t.Helper()
	owned, err := Connect(t).Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range owned {
		if strings.HasPrefix(c.Instance, prefix) {
			n++
		}
	}
	return n
}

// RemoveContainers removes the containers of the instances in dir/rows.jsonl, as somebody
// else might.
func RemoveContainers(t *testing.T, dir string) {
	t.Helper()
	rows, err := os.ReadFile(filepath.Join(dir, "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	engine := Connect(t)
	owned, err := engine.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range owned { // which another test's run may have removed before
		if !strings.Contains(string(rows), `"`+c.Instance+`"`) {
			continue
		}
		if err := engine.Remove(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// RemoveImage removes an image from the engine.
func RemoveImage(tb testing.TB, ref string) {
	engine, err := docker.Connect(context.Background(), docker.FromEnv(os.Getenv, ""))
	if err != nil {
		tb.Error(err)
		return
	}
	defer engine.Close()
	if err := engine.RemoveImage(context.Background(), ref); err != nil {
		tb.Error(err)
	}
}

// NeedDocker skips a test where there is no engine with the demo's images.
func NeedDocker(tb testing.TB) {
	tb.Helper()
	if err := DockerReady(tb); err != nil {
		tb.Skipf("no Docker: %v", err)
	}
}

// DockerReady returns nil when the engine is reachable and has the demo's images.
func DockerReady(tb testing.TB) error {
	tb.Helper()
	err := haveDemoImages()
	if err != nil && os.Getenv("BATCH_DOCKER") == "require" {
		tb.Fatalf("BATCH_DOCKER=require: %v", err)
	}
	return err
}

// haveDemoImages asks the engine once: the images stay while tests run.
var haveDemoImages = sync.OnceValue(func() error {
	ctx := context.Background()
	home, _ := os.UserHomeDir()
	engine, err := docker.Connect(ctx, docker.FromEnv(os.Getenv, home))
	if err != nil {
		return err
	}
	defer engine.Close()
	ds, err := dataset.Open(ctx, dataset.Source{Name: "demo", Demo: demo.Files()})
	if err != nil {
		return err
	}
	for _, in := range ds.Instances {
		if _, here, err := engine.Image(ctx, in.ImageName(""), ""); err != nil || !here {
			return errors.Join(errors.New("the demo's images are not built: run scripts/demo-images"), err)
		}
	}
	return nil
})
