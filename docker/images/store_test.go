package images_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/registrytest"
	"batch.example/batch/internal/tier"
	cache "batch.example/batch/sandbox/images"
)

// newStub returns a registry whose image is removed from the engine at the end.
func newStub(t testing.TB) *registrytest.Stub {
	t.Helper()
	s := registrytest.NewStub(t)
	removeLater(t, s.Ref())
	return s
}

// removeLater removes an image from the engine at the end of the test.
func removeLater(t testing.TB, ref string) {
	t.Cleanup(func() {
		_, _ = raw(t).ImageRemove(context.Background(), ref, image.RemoveOptions{Force: true})
	})
}

func TestAnImageIsPulledOnceWithProgressAndRemoved(t *testing.T) {
	e := connect(t)
	r := newStub(t)
	var asked atomic.Int64 // for the manifest, also by HEAD
	r.Fault = func(_ http.ResponseWriter, q *http.Request) bool {
		if strings.Contains(q.URL.Path, "/manifests/") {
			asked.Add(1)
		}
		return false
	}
	var seen []cache.Progress
	img, err := e.Ensure(t.Context(), r.Ref(), "", func(p cache.Progress) { seen = append(seen, p) })
	if err != nil {
		t.Fatal(err)
	}
	if img.Digest != registrytest.Digest(r.Manifest) || !isOf(img, r.Image) || img.Size < registrytest.LayerSize {
		t.Errorf("image %+v", img)
	}
	if len(seen) == 0 {
		t.Fatal("the pull reported no progress")
	}
	if last := seen[len(seen)-1]; last.Current != last.Total {
		t.Errorf("last progress %+v, want all of a layer", last)
	}
	before := r.ManifestGets.Load()
	if _, err := e.Ensure(t.Context(), r.Ref(), "", nil); err != nil || r.ManifestGets.Load() != before {
		t.Errorf("an image on the engine: %d requests to the registry, error %v; want none", r.ManifestGets.Load()-before, err)
	}
	before = asked.Load()
	if _, err := e.Pull(t.Context(), r.Ref(), "", nil); err != nil || asked.Load() == before {
		t.Errorf("a pull of an image on the engine did not ask the registry: %v", err)
	}
	layers, err := e.Layers(t.Context(), r.Ref(), "")
	if err != nil || len(layers) != 1 || layers[0].ID != r.Image.Layers[0].DiffID || layers[0].Size != img.Size { // also when the compressed layer is on disk
		t.Errorf("layers %+v of image %+v, %v", layers, img, err)
	}
	for range 2 { // removing a missing image is not an error
		if err := e.RemoveImage(t.Context(), r.Ref()); err != nil {
			t.Error(err)
		}
	}
	if _, here, err := e.Image(t.Context(), r.Ref(), ""); here || err != nil {
		t.Errorf("still here: %v, %v; want no image, no error", here, err)
	}
}

func TestCallersShareOnePull(t *testing.T) {
	e := connect(t)
	r := newStub(t)
	reached, open := make(chan struct{}, 10), make(chan struct{})
	r.Fault = registrytest.Blob(registrytest.Digest(r.Layer()), func(http.ResponseWriter, *http.Request) bool {
		reached <- struct{}{}
		<-open
		return false
	})
	first, giveUp := context.WithCancel(t.Context())
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		ctx := t.Context()
		if i == 0 {
			ctx = first
		}
		wg.Go(func() { _, errs[i] = e.Ensure(ctx, r.Ref(), "", nil) })
	}
	<-reached
	awaitWaiters(t, e, r.Ref(), 4)
	giveUp()
	awaitWaiters(t, e, r.Ref(), 3)
	close(open)
	wg.Wait()
	if !fault.Canceled(errs[0]) {
		t.Errorf("the canceled caller got %v, want a cancellation", errs[0])
	}
	for _, err := range errs[1:] {
		if err != nil {
			t.Error(err)
		}
	}
	if n := r.BlobGets.Load(); n != 1 {
		t.Errorf("%d downloads of the layer, want 1", n)
	}
}

func awaitWaiters(t *testing.T, e *docker.Engine, ref string, n int) {
	t.Helper()
	for e.Waiters(ref) != n {
		if t.Context().Err() != nil {
			t.Fatal("the pull ended although a caller waits")
		}
		runtime.Gosched()
	}
}

func TestAPullEndsWhenItsLastCallerCancels(t *testing.T) {
	e := connect(t)
	r := newStub(t)
	reached, gone := make(chan struct{}, 10), make(chan struct{}, 10)
	slow := registrytest.Dribble(r.Layer(), t.Context().Done())
	r.Fault = registrytest.Blob(registrytest.Digest(r.Layer()), func(w http.ResponseWriter, q *http.Request) bool {
		reached <- struct{}{}
		slow(w, q)
		gone <- struct{}{}
		return true
	})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := e.Ensure(ctx, r.Ref(), "", nil); !fault.Canceled(err) {
			t.Errorf("error %v, want a cancellation", err)
		}
	})
	<-reached
	cancel()
	wg.Wait()
	select {
	case <-gone: // the engine has closed its request
	case <-time.After(2 * time.Minute):
		t.Error("the engine continues the pull although no caller waits")
	}
}

func TestAFailedPullSaysWhoIsToBlame(t *testing.T) {
	e := connect(t)
	e.Hurry()
	for _, tt := range []struct {
		name string
		fail func(r *registrytest.Stub) registrytest.Fault
		kind fault.Kind
	}{
		{"no such image", refuse(404, "MANIFEST_UNKNOWN", "manifest unknown"), fault.Instance},
		{"no such repository", refuse(404, "NAME_UNKNOWN", "repository name not known to registry"), fault.Instance},
		{"a login is asked for", refuse(401, "UNAUTHORIZED", "authentication required"), fault.Instance},
		{"access denied", refuse(403, "DENIED", "requested access to the resource is denied"), fault.Instance},
		{"too many requests", refuse(429, "TOOMANYREQUESTS", "You have reached your pull rate limit"), fault.Transient},
		{"the registry is broken", refuse(503, "UNAVAILABLE", "come back later"), fault.Transient},
		{"the registry is not there", func(r *registrytest.Stub) registrytest.Fault {
			r.Close()
			return nil
		}, fault.Transient},
		{"another platform only", func(r *registrytest.Stub) registrytest.Fault {
			r.ForPlatform(t, "plan9", "mips")
			return nil
		}, fault.Instance},
		{"a layer that is not what it should be", func(r *registrytest.Stub) registrytest.Fault {
			return registrytest.Blob(registrytest.Digest(r.Layer()), registrytest.Corrupt(r.Layer()))
		}, fault.Transient},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newStub(t)
			r.Fault = tt.fail(r)
			_, err := e.Ensure(t.Context(), r.Ref(), "", nil)
			if err == nil || fault.KindOf(err) != tt.kind {
				t.Errorf("kind %v, want %v: %v", fault.KindOf(err), tt.kind, err)
			}
			if err != nil && fault.HintOf(err) == "" {
				t.Errorf("no hint: %v, want no error, or a hint", err)
			}
		})
	}
}

func refuse(status int, code, text string) func(*registrytest.Stub) registrytest.Fault {
	return func(*registrytest.Stub) registrytest.Fault { return registrytest.Refuse(status, code, text) }
}

func TestAPullWithoutProgressEnds(t *testing.T) {
	tier.Rest(t)
	repeat := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte(`{"status":"Downloading","id":"a","progressDetail":{"current":5,"total":10}}`))
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	}
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, f := range map[string]http.HandlerFunc{
		"silent from the beginning": hang,
		"repeating itself":          repeat,
		"silent in the middle": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(`{"status":"Pulling fs layer","id":"a"}`))
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/images/create"):
					f(w, r)
				case !strings.HasSuffix(r.URL.Path, "/_ping"):
					w.WriteHeader(http.StatusNotFound) // the image is not on the engine yet
				}
			}))
			defer s.Close()
			e, err := docker.Connect(t.Context(), docker.Config{Host: "tcp://" + s.Listener.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			e.Stall(200 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			_, err = e.Ensure(ctx, "stub.example/thing:1", "", nil)
			if ctx.Err() != nil || fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), "no progress") || fault.HintOf(err) == "" {
				t.Errorf("got a fault of kind %v: %v, want error nil, a Transient fault with %q, a hint", fault.KindOf(err), err, "no progress")
			}
		})
	}
}
