package images_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/internal/tier"
)

// These tests pull from a registry with injected faults.

// pushed returns a registry with an image in it, and the image's name.
func pushed(t *testing.T, login bool) (*registrytest.Registry, *registrytest.Image, string) {
	t.Helper()
	connect(t) // skips without an engine
	r := registrytest.Start(t, login)
	img := registrytest.NewImage(t, registrytest.NewLayer(t, 20<<10), registrytest.NewLayer(t, 200<<10))
	ref := r.Push("team/thing:1", img)
	removeLater(t, ref)
	return r, img, ref
}

// isOf reports whether img is want, which an engine identifies by its configuration or,
// in containerd's image store, by its manifest.
func isOf(img images.Image, want *registrytest.Image) bool {
	return img.ID == registrytest.Digest(want.Config) || img.ID == registrytest.Digest(want.Manifest)
}

// pullOnce has the engine pull ref once, whatever the result.
func pullOnce(t *testing.T, ref string, o image.PullOptions) {
	t.Helper()
	said, err := raw(t).ImagePull(t.Context(), ref, o)
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, said)
	_ = said.Close()
}

func TestADownloadOfALayerIsResumed(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	e := connect(t)
	r, img, ref := pushed(t, false)
	big := img.Layers[1].Packed
	r.Break(registrytest.Blob(registrytest.Digest(big), registrytest.First(1, registrytest.CutOff(big))))
	if _, err := e.Ensure(t.Context(), ref, "", nil); err != nil {
		t.Errorf("%v (hint %q)", err, fault.HintOf(err))
	}
}

func TestARegistryWithAPassword(t *testing.T) {
	tier.Rest(t)
	connect(t)
	r, _, ref := pushed(t, true)
	var asked atomic.Int64
	r.Break(registrytest.Manifests(func(http.ResponseWriter, *http.Request) bool { asked.Add(1); return false }))
	for _, tt := range []struct {
		name, dir string
		good      bool
	}{
		{"no login", t.TempDir(), false},
		{"bad login", registrytest.Login(t, r.Host(), registrytest.User, "wrong"), false},
		{"good login", registrytest.Login(t, r.Host(), registrytest.User, registrytest.Password), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := docker.FromEnv(os.Getenv, "")
			c.ConfigDir = tt.dir
			e, err := docker.Connect(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			login := e.Credentials(t, ref)
			if !tt.good {
				pullOnce(t, ref, image.PullOptions{RegistryAuth: login})
			}
			once := asked.Swap(0)
			_, err = e.Ensure(t.Context(), ref, "", nil)
			if tt.good {
				if err != nil {
					t.Errorf("%v (hint %q)", err, fault.HintOf(err))
				}
				return
			}
			if fault.KindOf(err) != fault.Instance || !strings.Contains(fault.HintOf(err), "docker login") {
				t.Errorf("got a fault of kind %v: %v (hint %q); want an Instance fault, %q",
					fault.KindOf(err), err, fault.HintOf(err), "docker login")
			}
			if n := asked.Swap(0); n > once {
				t.Errorf("%d requests, want the %d of one pull: a refused login must not be retried", n, once)
			}
		})
	}
}

func TestAnImageInUseIsNotRemoved(t *testing.T) {
	e := connect(t)
	r := newStub(t)
	img, err := e.Ensure(t.Context(), r.Ref(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	api := raw(t)
	made, err := api.ContainerCreate(t.Context(), &container.Config{Image: r.Ref(), Cmd: []string{"none"}}, nil, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = api.ContainerRemove(context.Background(), made.ID, container.RemoveOptions{}) })
	if used, err := e.UsedImages(t.Context()); err != nil || !used[img.ID] {
		t.Errorf("images in use: %v, error %v; want the container's image among them", used, err)
	}
	if err := e.RemoveImage(t.Context(), r.Ref()); fault.KindOf(err) != fault.Instance {
		t.Errorf("got a fault of kind %v: %v, want an Instance fault", fault.KindOf(err), err)
	}
	if _, here, err := e.Image(t.Context(), r.Ref(), ""); !here || err != nil {
		t.Errorf("gone: %v, want the image, no error", err)
	}
}
