package runs

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/internal/tier"
)

// These tests run the program, or its image cache, against the real engine and
// a registry.

// pushed stores n images that share the layer base in r, and returns their
// names. They are removed from the engine at the end.
func pushed(t *testing.T, r *registrytest.Registry, base registrytest.Layer, n, size int) []string {
	t.Helper()
	refs := make([]string, n)
	for i := range refs {
		refs[i] = r.Push(fmt.Sprintf("team/thing%d:1", i), registrytest.NewImage(t, base, registrytest.NewLayer(t, size)))
		t.Cleanup(func() { e2e.RemoveImage(t, refs[i]) })
	}
	return refs
}

func TestImagesPullWaitsForARateLimit(t *testing.T) {
	tier.Rest(t, "docker/images", "cmd/batch/images*.go")
	e2e.Connect(t)
	r := registrytest.Start(t, false)
	ref := pushed(t, r, registrytest.NewLayer(t, 1<<10), 1, 1<<10)[0]
	limit := registrytest.Refuse(429, "TOOMANYREQUESTS", "retry-after: 20ms, allowed: 1/hour")
	each := r.Requests(registrytest.Manifests(limit), func() { _ = exec.Command("docker", "pull", ref).Run() })
	r.Break(registrytest.Manifests(registrytest.First(each, limit)))
	dir := t.TempDir()
	writeRows(t, dir, "rows.jsonl", ref)
	out, err := e2e.Batch(t, dir, "images", "pull", "--disk-reserve", "1MB", "--subset", "rows.jsonl").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "the registry limits pulls; waiting") || !strings.Contains(string(out), "1 pulled") {
		t.Errorf("got %v, want %q in the output, %q in the output, no error\n%s",
			err, "the registry limits pulls; waiting", "1 pulled", out)
	}
}

// writeRows writes a dataset of an instance for each of the images.
func writeRows(t *testing.T, dir, name string, refs ...string) {
	t.Helper()
	var rows strings.Builder
	for i, ref := range refs {
		fmt.Fprintf(&rows, `{"instance_id":"thing__%d","problem_statement":"p","image_name":%q}`+"\n", i, ref)
	}
	e2e.WriteFiles(t, dir, map[string]string{name: rows.String()})
}
