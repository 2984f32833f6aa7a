package docker_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"batch.example/batch/docker"
	"batch.example/batch/fault"
)

func TestEnsurePullsWithProgressAndOnlyOnce(t *testing.T) {
	e := connect(t)
	r := newRegistry(t)
	var seen []docker.PullProgress
	img, err := e.Ensure(t.Context(), r.ref(), func(p docker.PullProgress) { seen = append(seen, p) })
	if err != nil {
		t.Fatal(err)
	}
	if img.Digest != sum(r.manifest) || img.ID != sum(r.config) || img.Size != layerSize {
		t.Errorf("image %+v", img)
	}
	if len(seen) == 0 {
		t.Fatal("no progress")
	}
	if last := seen[len(seen)-1]; last.Layers != 1 || last.Current > last.Total {
		t.Errorf("last progress %+v", last)
	}
	before := r.manifests.Load()
	if _, err := e.Ensure(t.Context(), r.ref(), nil); err != nil || r.manifests.Load() != before {
		t.Errorf("an image that is there: %d requests, %v", r.manifests.Load()-before, err)
	}
}

func TestCallersShareOnePull(t *testing.T) {
	e := connect(t)
	r := newRegistry(t)
	reached, open := make(chan struct{}, 10), make(chan struct{})
	r.fail = func(_ http.ResponseWriter, q *http.Request) bool {
		if strings.HasSuffix(q.URL.Path, sum(r.layer)) {
			reached <- struct{}{}
			<-open
		}
		return false
	}
	first, giveUp := context.WithCancel(t.Context())
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		ctx := t.Context()
		if i == 0 {
			ctx = first
		}
		wg.Go(func() { _, errs[i] = e.Ensure(ctx, r.ref(), nil) })
	}
	<-reached
	awaitWaiters(t, e, r.ref(), 4)
	giveUp()
	awaitWaiters(t, e, r.ref(), 3)
	close(open)
	wg.Wait()
	if !fault.Canceled(errs[0]) {
		t.Errorf("the one that gave up: %v", errs[0])
	}
	for _, err := range errs[1:] {
		if err != nil {
			t.Error(err)
		}
	}
	if n := r.blobs.Load(); n != 1 {
		t.Errorf("%d downloads of the layer", n)
	}
}

func awaitWaiters(t *testing.T, e *docker.Engine, ref string, n int) {
	t.Helper()
	for e.Waiters(ref) != n {
		if t.Context().Err() != nil {
			t.Fatal("ended before")
		}
		runtime.Gosched()
	}
}

func TestTheLastCallerEndsThePull(t *testing.T) {
	e := connect(t)
	r := newRegistry(t)
	reached, gone := make(chan struct{}, 10), make(chan struct{}, 10)
	r.fail = func(w http.ResponseWriter, q *http.Request) bool {
		if !strings.HasSuffix(q.URL.Path, sum(r.layer)) {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(r.layer)))
		reached <- struct{}{}
		dribble(t.Context(), w, q, r.layer)
		gone <- struct{}{}
		return true
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := e.Ensure(ctx, r.ref(), nil); !fault.Canceled(err) {
			t.Errorf("error %v", err)
		}
	})
	<-reached
	cancel()
	wg.Wait()
	select {
	case <-gone: // the engine has let go of the registry
	case <-time.After(10 * time.Second):
		t.Error("the engine goes on with the pull")
	}
}

// dribble is a slow registry. The engine notices only between two reads that
// nobody wants the layer any more.
func dribble(ctx context.Context, w http.ResponseWriter, q *http.Request, data []byte) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for _, b := range data {
		if _, err := w.Write([]byte{b}); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-tick.C:
		case <-q.Context().Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

func TestAFailedPullSaysWhoIsToBlame(t *testing.T) {
	e := connect(t)
	for _, tt := range []struct {
		name string
		fail func(r *registry) func(http.ResponseWriter, *http.Request) bool
		kind fault.Kind
	}{
		{"no such image", always(refuse(404, "MANIFEST_UNKNOWN", "manifest unknown")), fault.Instance},
		{"no such repository", always(refuse(404, "NAME_UNKNOWN", "repository name not known to registry")), fault.Instance},
		{"a login is asked for", always(refuse(401, "UNAUTHORIZED", "authentication required")), fault.Instance},
		{"access denied", always(refuse(403, "DENIED", "requested access to the resource is denied")), fault.Instance},
		{"too many requests", always(refuse(429, "TOOMANYREQUESTS", "You have reached your pull rate limit")), fault.Transient},
		{"the registry is broken", always(refuse(503, "UNAVAILABLE", "come back later")), fault.Transient},
		{"the registry is not there", func(r *registry) func(http.ResponseWriter, *http.Request) bool {
			r.Close()
			return nil
		}, fault.Transient},
		{"another platform only", func(r *registry) func(http.ResponseWriter, *http.Request) bool {
			r.kind = "application/vnd.docker.distribution.manifest.list.v2+json"
			entry := blob("application/vnd.docker.distribution.manifest.v2+json", r.manifest)
			entry["platform"] = map[string]any{"os": "plan9", "architecture": "mips"}
			r.manifest = marshal(t, map[string]any{"schemaVersion": 2, "mediaType": r.kind, "manifests": []any{entry}})
			return nil
		}, fault.Instance},
		{"a layer that is not what it should be", func(r *registry) func(http.ResponseWriter, *http.Request) bool {
			return func(w http.ResponseWriter, q *http.Request) bool {
				if !strings.HasSuffix(q.URL.Path, sum(r.layer)) {
					return false
				}
				broken := append([]byte(nil), r.layer...)
				broken[len(broken)/2] ^= 1
				_, _ = w.Write(broken)
				return true
			}
		}, fault.Transient},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRegistry(t)
			r.fail = tt.fail(r)
			_, err := e.Ensure(t.Context(), r.ref(), nil)
			if err == nil || fault.KindOf(err) != tt.kind {
				t.Errorf("kind %v, want %v: %v", fault.KindOf(err), tt.kind, err)
			}
			if err != nil && fault.HintOf(err) == "" {
				t.Errorf("no hint: %v", err)
			}
		})
	}
	t.Run("a name that is none", func(t *testing.T) {
		if _, err := e.Ensure(t.Context(), "Not A Name", nil); fault.KindOf(err) != fault.Instance {
			t.Errorf("%v: %v", fault.KindOf(err), err)
		}
	})
}

func always(f func(http.ResponseWriter, *http.Request) bool) func(*registry) func(http.ResponseWriter, *http.Request) bool {
	return func(*registry) func(http.ResponseWriter, *http.Request) bool { return f }
}

func TestEnsureUsesTheUsersLogin(t *testing.T) {
	connect(t) // skips without an engine
	r := newRegistry(t)
	r.fail = func(w http.ResponseWriter, q *http.Request) bool {
		if user, pass, _ := q.BasicAuth(); user == "ann" && pass == "s3cret:x" {
			return false
		}
		return refuse(401, "UNAUTHORIZED", "authentication required")(w, q)
	}
	dir := t.TempDir()
	login := base64.StdEncoding.EncodeToString([]byte("ann:s3cret:x"))
	file := `{"auths":{"` + r.host() + `":{"auth":"` + login + `"}}}`
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c := docker.FromEnv(os.Getenv, "")
	c.ConfigDir = dir
	e, err := docker.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Ensure(t.Context(), r.ref(), nil); err != nil {
		t.Errorf("%v (hint %q)", err, fault.HintOf(err))
	}
}
