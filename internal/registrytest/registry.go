package registrytest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// User and Password are the login that a registry with a password accepts.
const (
	User     = "ann"
	Password = "s3cret:x"
)

// Registry is a registry in this process. Engines can pull images from it, and tests can
// make requests to it fail.
type Registry struct {
	fault  atomic.Pointer[Fault]
	login  bool
	server *httptest.Server

	mu    sync.Mutex
	blobs map[string]blob // by digest; manifests also by the end of their URL, such as team/thing/manifests/1
}

type blob struct {
	kind string
	data []byte
}

// Start runs a registry that ends with the test. With login it asks for [User] and
// [Password].
func Start(t testing.TB, login bool) *Registry {
	t.Helper()
	r := &Registry{login: login, blobs: map[string]blob{}}
	r.server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.server.Close)
	return r
}

func (r *Registry) serve(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if f := r.fault.Load(); f != nil && (*f)(w, q) {
		return
	}
	user, password, _ := q.BasicAuth()
	if r.login && (user != User || password != Password) {
		Refuse(http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")(w, q)
		return
	}
	name := strings.TrimPrefix(q.URL.Path, "/v2/")
	r.mu.Lock()
	b, here := r.blobs[name]
	if !here {
		b, here = r.blobs[path.Base(name)]
	}
	r.mu.Unlock()
	switch {
	case name == "":
	case !here:
		Refuse(http.StatusNotFound, "NAME_UNKNOWN", "not known to the registry")(w, q)
	default:
		w.Header().Set("Content-Type", b.kind)
		w.Header().Set("Docker-Content-Digest", Digest(b.data))
		http.ServeContent(w, q, "", time.Time{}, bytes.NewReader(b.data)) // it also answers range requests
	}
}

// Host is the registry's address as it appears in an image's name.
func (r *Registry) Host() string { return strings.TrimPrefix(r.server.URL, "http://") }

// Break passes each request to f first; nil restores the normal service.
func (r *Registry) Break(f Fault) {
	if f == nil {
		r.fault.Store(nil)
		return
	}
	r.fault.Store(&f)
}

// Requests returns how many requests f answers while pull runs. Before an engine gives up a
// pull, it may ask for headers first, or repeat its requests.
func (r *Registry) Requests(f Fault, pull func()) int64 {
	var n atomic.Int64
	r.Break(func(w http.ResponseWriter, q *http.Request) bool {
		if !f(w, q) {
			return false
		}
		n.Add(1)
		return true
	})
	defer r.Break(nil)
	pull()
	return n.Load()
}

// Push stores the image under name, such as team/thing:1, and returns its full name.
func (r *Registry) Push(name string, img *Image) string {
	repo, tag, _ := strings.Cut(name, ":")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range img.Layers {
		r.keep("application/octet-stream", l.Packed)
	}
	r.keep("application/octet-stream", img.Config)
	r.keep(img.Type, img.Manifest)
	r.blobs[repo+"/manifests/"+tag] = blob{img.Type, img.Manifest}
	return r.Host() + "/" + name
}

func (r *Registry) keep(kind string, data []byte) { r.blobs[Digest(data)] = blob{kind, data} }

// Login creates a directory with a docker config.json that has a user's login
// for the registry at host, and returns its path.
func Login(t testing.TB, host, user, password string) string {
	t.Helper()
	dir := t.TempDir()
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	text := fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, host, auth)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
