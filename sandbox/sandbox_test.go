package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/docker"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
	"batch.example/batch/sandbox/engine/memory"
)

// anyHost returns a host on an engine that runs plain processes, and an instance for it, for a
// test that needs bash and a few tools, but not Docker.
func anyHost(t *testing.T, set func(*Config)) (*Host, dataset.Instance) {
	t.Helper()
	c := Config{
		Engines: One(memory.At(t.TempDir())), State: t.TempDir(), Timeout: time.Minute,
		Container: engine.Spec{WorkDir: "/testbed", Unattended: 5 * time.Minute},
	}
	set(&c)
	h, err := Start(t.Context(), c)
	if err != nil {
		enginetest.Lacks(t, "%v", err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, dataset.Instance{ID: "plain", Image: enginetest.Directory(t, strings.Fields(conformance.Tools), nil)}
}

// testHost returns a host on the real engine for sandboxes with the settings of set. It
// does not reap. Without an engine with the demo's images, the test is skipped;
// BATCH_DOCKER=require makes that a failure.
func testHost(t *testing.T, set func(*Config)) *Host {
	t.Helper()
	home, _ := os.UserHomeDir()
	c := Config{
		Engines: One(docker.FromEnv(os.Getenv, home).Open), State: t.TempDir(), Timeout: time.Minute,
		Container: engine.Spec{WorkDir: "/testbed", Unattended: 5 * time.Minute},
	}
	if set != nil {
		set(&c)
	}
	h, err := Start(t.Context(), c)
	if err == nil {
		t.Cleanup(func() {
			if err := h.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		_, here, found := h.sites[0].engine.(docker.Sandboxes).Image(t.Context(), demoInstances(t)[0].ImageName(""), "")
		if err = found; err == nil && !here {
			err = errNoDemo
		}
	}
	if err != nil && os.Getenv("BATCH_DOCKER") == "require" {
		t.Fatalf("BATCH_DOCKER=require: %v", err)
	}
	if err != nil {
		t.Skipf("no Docker: %v", err)
	}
	return h
}

var errNoDemo = errors.New("the demo's images are not built: run scripts/demo-images")

func demoInstances(t *testing.T) []dataset.Instance {
	t.Helper()
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: "demo", Demo: demo.Files()})
	if err != nil {
		t.Fatal(err)
	}
	return ds.Instances
}

// ownImage returns the name of an image that no other test and no other process makes.
func ownImage() string { return "batch-test/" + strings.ToLower(rand.Text()) + ":1" }

func (h *Host) removeAtEnd(t *testing.T, ref string) {
	t.Cleanup(func() {
		if err := h.sites[0].engine.(docker.Sandboxes).RemoveImage(context.Background(), ref); err != nil {
			t.Error(err)
		}
	})
}

func (h *Host) open(t *testing.T, o Opening) *Sandbox {
	t.Helper()
	if o.Report == nil {
		o.Report = func(string) {}
	}
	box, err := h.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.remove(t, box) })
	return box
}

// remove closes a sandbox and waits until its container is removed.
func (h *Host) remove(t *testing.T, box *Sandbox) {
	t.Helper()
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	h.leaving.Wait()
}

// The image is built or pulled again just before its container is created.
func TestTheImageThatRanIsRecorded(t *testing.T) {
	ref := ownImage()
	first, second := demoInstances(t)[0], demoInstances(t)[1]
	tag := func(image string) error { return exec.Command("docker", "tag", image, ref).Run() }
	h := testHost(t, func(c *Config) {
		c.Options.Before = func(call string) error {
			if call == "create" {
				return tag(second.ImageName(""))
			}
			return nil
		}
	})
	if err := tag(first.ImageName("")); err != nil {
		t.Fatal(err)
	}
	h.removeAtEnd(t, ref)
	want, _, err := h.sites[0].engine.(docker.Sandboxes).Image(t.Context(), ref, "")
	if err != nil {
		t.Fatal(err)
	}
	in := first
	in.Image = ref
	box := h.open(t, Opening{Instance: in, Attempt: 1})
	f := box.Facts()
	ran, err := exec.Command("docker", "inspect", "--format", "{{.Image}}", f.Container).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(ran)); got != want.ID || f.Image.ID != got || f.Image.Ref != ref {
		t.Errorf("looked up %s, ran %s, recorded %s as %s", want.ID, got, f.Image.ID, f.Image.Ref)
	}
	if got := box.Vars()["image"]; got != ref {
		t.Errorf("templates show the image %v, want %s", got, ref)
	}
}

// The platform reaches the pull: the image contains no program, so its container
// cannot start.
func TestImagesArePulledForThePlatformOfTheContainers(t *testing.T) {
	h := testHost(t, func(c *Config) { c.Container.Platform = "linux/arm64" })
	r := registrytest.NewStub(t)
	r.Offer(t, "amd64", "arm64")
	h.removeAtEnd(t, r.Ref())
	in := demoInstances(t)[0]
	in.Image = r.Ref()
	_, err := h.Open(t.Context(), Opening{Instance: in, Attempt: 1, Report: func(string) {}})
	if err == nil || strings.Contains(err.Error(), "platform") {
		t.Errorf("the container of an image without a program was started: %v", err)
	}
	img, here, err := h.sites[0].engine.(docker.Sandboxes).Image(t.Context(), r.Ref(), "linux/arm64")
	if err != nil || !here || img.Arch != "arm64" {
		t.Errorf("got %+v, %v; want the image, arch %q, no error", img, err, "arm64")
	}
}
