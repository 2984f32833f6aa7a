package runs

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/internal/tier"
)

// pushedSystems stores n images in r in which batch can work, and returns their names, and the
// sizes of the layer that they share and of the one that each has.
func pushedSystems(t *testing.T, r *registrytest.Registry, n int) (refs []string, base, own int64) {
	t.Helper()
	e := e2e.Connect(t)
	root, err := enginetest.Root(strings.Fields("bash cat env mkdir rm setsid sleep timeout"), nil)
	if err != nil {
		t.Fatal(err)
	}
	refs = pushed(t, r, registrytest.PackLayer(root), n, 1<<20)
	if _, err := e.Ensure(t.Context(), refs[0], "", nil); err != nil {
		t.Fatal(err)
	}
	layers, err := e.Layers(t.Context(), refs[0], "")
	if err != nil {
		t.Fatal(err)
	}
	e2e.RemoveImage(t, refs[0])
	return refs, layers[0].Size, layers[1].Size
}

// Two runs on one engine evict images to keep within their budgets, each while the other
// pulls, starts and holds the same images: neither may fail because of that.
func TestTwoRunsEvictImagesAtTheSameTime(t *testing.T) {
	tier.Rest(t, "sandbox/images", "docker/images", "sandbox/*.go")
	t.Parallel()
	r := registrytest.Start(t, false)
	refs, base, own := pushedSystems(t, r, 6)
	budget := base + 7*own/2 // room for three images; the two runs want five at a time
	dir := t.TempDir()
	evicted := make([]int, 2)
	var wg sync.WaitGroup
	for run := range evicted {
		order := slices.Repeat(refs, 3)
		if run == 1 {
			slices.Reverse(order)
		}
		name := fmt.Sprintf("rows%d.jsonl", run)
		writeRows(t, dir, name, order...)
		wg.Go(func() {
			out := fmt.Sprint("out", run)
			said, err := e2e.Batch(t, dir, "run", "--subset", name, "-m", "noop", "-o", out, "-w", "2", "--order", "given",
				"--prefetch", "1", "--disk-reserve", "1MB", "--disk-budget", fmt.Sprint(budget)).CombinedOutput()
			if err != nil {
				t.Errorf("run %d: %v\n%s", run, err, said)
			}
			log, err := os.ReadFile(filepath.Join(dir, out, "batch.log"))
			if err != nil {
				t.Error(err)
			}
			for _, lost := range []string{"something removed it", "could not evict"} { // signs of an eviction in spite of a hold
				if strings.Contains(string(log), lost) {
					t.Errorf("run %d: got %s, want no %q in the log\n%s", run, lost, lost, log)
				}
			}
			evicted[run] = strings.Count(string(log), "evicted an image")
		})
	}
	wg.Wait()
	if evicted[0] == 0 || evicted[1] == 0 {
		t.Errorf("evicted %v, want evicted 0 other than 0, evicted 1 other than 0", evicted)
	}
}

// A sweep pulls an image once, and does not evict it before all of its cells have used it,
// also if there is room for one image only.
func TestASweepPullsEachImageOnce(t *testing.T) {
	tier.Rest(t, "sandbox/images", "docker/images", "sandbox/*.go")
	t.Parallel()
	r := registrytest.Start(t, false)
	refs, base, own := pushedSystems(t, r, 4)
	dir := t.TempDir()
	writeRows(t, dir, "rows.jsonl", refs...)
	budget := base + 3*own/2 // room for one image
	var mu sync.Mutex
	blobs := map[string]int{} // path -> how often it was pulled
	r.Break(func(_ http.ResponseWriter, q *http.Request) bool {
		if q.Method == http.MethodGet && strings.Contains(q.URL.Path, "/blobs/") {
			mu.Lock()
			defer mu.Unlock()
			blobs[q.URL.Path]++
		}
		return false
	})
	out, err := e2e.Batch(t, dir, "sweep", "--subset", "rows.jsonl", "-m", "noop", "-c", "default", "-c", "tools", "--attempts", "2", "-o", "out", "-w", "2",
		"--prefetch", "0", "--disk-reserve", "1MB", "--disk-budget", fmt.Sprint(budget)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log, err := os.ReadFile(filepath.Join(dir, "out", "batch.log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "evicted an image"); n < len(refs)-2 {
		t.Errorf("%d images were evicted of %d, with room for one\n%s", n, len(refs), log)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(blobs) < len(refs) {
		t.Errorf("only %v was pulled", blobs)
	}
	for path, n := range blobs {
		if n > 1 {
			t.Errorf("%s was pulled %d times by four cells\n%s", path, n, log)
		}
	}
}
