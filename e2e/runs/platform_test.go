package runs

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"batch.example/batch/docker"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/images"
)

// An engine may have one image per name: when the name is pulled for another platform,
// the earlier image stays without a name, and batch may still evict it. An engine with
// containerd's image store has both under one name and id.
func TestImagesForTwoPlatformsAreTwoAndBothAreEvicted(t *testing.T) {
	tier.Rest(t, "sandbox/images", "docker/images", "sandbox/*.go")
	e := e2e.Connect(t)
	r := registrytest.NewStub(t)
	r.Offer(t, "amd64", "arm64")
	t.Cleanup(func() { e2e.RemoveImage(t, r.Ref()) })
	ledger, err := images.OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := images.New(docker.Sandboxes{Engine: e}.ImageEngine(), ledger, images.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	ids := map[string]bool{}
	for _, platform := range []string{"linux/arm64", "linux/amd64"} {
		img, release, err := c.Acquire(t.Context(), platform, images.Ref(r.Ref(), platform), nil)
		if err != nil {
			t.Fatal(err)
		}
		release()
		ids[img.ID] = true
	}
	entries, err := ledger.Entries()
	if err != nil || len(entries) != 2 {
		t.Fatalf("ledger %+v, %v; want 2 entries, no error", entries, err)
	}
	for _, e := range entries {
		if len(e.Layers) != 1 || e.Layers[0].ID == "" || e.Layers[0].Size < registrytest.LayerSize {
			t.Errorf("layers %+v, want 1 layer, some ID, at least %v", e, registrytest.LayerSize)
		}
	}
	gone, kept, err := c.Evict(t.Context(), 0, false)
	if err != nil || len(gone) != 2 || len(kept) != 0 {
		t.Errorf("evicted %+v, kept %+v, %v; want 2 gone, no kept, no error", gone, kept, err)
	}
	for id := range ids {
		if _, here, err := e.Image(t.Context(), id, ""); here || err != nil {
			t.Errorf("%s is still on the engine, error %v", id, err)
		}
	}
}

// A name that the user gave an image protects it, even when batch's name is removed.
func TestAnImageThatTheUserNamedIsNotEvicted(t *testing.T) {
	tier.Rest(t, "sandbox/images", "docker/images", "sandbox/*.go")
	e := e2e.Connect(t)
	r := registrytest.NewStub(t)
	r.Offer(t, "amd64", "arm64")
	name := fmt.Sprintf("batch-test/named:%d", os.Getpid())
	ledger, err := images.OpenLedger(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := images.New(docker.Sandboxes{Engine: e}.ImageEngine(), ledger, images.Options{})
	pull := func(platform string) string {
		img, release, err := c.Acquire(t.Context(), platform, images.Ref(r.Ref(), platform), nil)
		if err != nil {
			t.Fatal(err)
		}
		release()
		return img.ID
	}
	id := pull("linux/arm64")
	t.Cleanup(func() { e2e.RemoveImage(t, id) }) // runs after its names are removed
	if out, err := exec.Command("docker", "tag", r.Ref(), name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pull("linux/amd64")
	for _, ref := range []string{r.Ref(), name} {
		t.Cleanup(func() { e2e.RemoveImage(t, ref) })
	}
	if _, kept, err := c.Evict(t.Context(), 0, false); err != nil || len(kept) != 1 {
		t.Errorf("kept %+v, %v; want 1 kept, no error", kept, err)
	}
	if _, here, err := e.Image(t.Context(), id, ""); !here || err != nil {
		t.Errorf("the image that the user named is gone, %v", err)
	}
}
