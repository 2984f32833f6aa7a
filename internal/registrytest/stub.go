package registrytest

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// LayerSize is the size of the file in a stub's image.
const LayerSize = 400 << 10

// Stub is a registry with one image of one layer. Set Fault and change the image
// before the first request.
type Stub struct {
	*Registry
	*Image
	Fault Fault

	ManifestGets, BlobGets atomic.Int64 // GET requests for manifests, and for the layer
}

// NewStub starts a stub that ends with the test.
func NewStub(t testing.TB) *Stub {
	t.Helper()
	s := &Stub{Registry: Start(t, false), Image: NewImage(t, NewLayer(t, LayerSize))}
	s.Break(s.count)
	s.Push(name, s.Image)
	return s
}

func (s *Stub) count(w http.ResponseWriter, q *http.Request) bool {
	if s.Fault != nil && s.Fault(w, q) {
		return true
	}
	switch {
	case q.Method != http.MethodGet:
	case strings.Contains(q.URL.Path, "/manifests/"):
		s.ManifestGets.Add(1)
	case strings.HasSuffix(q.URL.Path, Digest(s.Layer())):
		s.BlobGets.Add(1)
	}
	return false
}

// Offer replaces the stub's image by one for each of the given architectures, for Linux,
// with the same layer.
func (s *Stub) Offer(t testing.TB, archs ...string) {
	t.Helper()
	var entries []any
	for _, arch := range archs {
		img := newImage(t, arch, s.Layers...)
		s.Push(name, img)
		entries = append(entries, entry(img, "linux", arch))
	}
	s.list(t, entries)
}

// ForPlatform makes the manifest a list that offers the image only for that
// platform.
func (s *Stub) ForPlatform(t testing.TB, os, arch string) {
	t.Helper()
	s.list(t, []any{entry(s.Image, os, arch)})
}

func entry(img *Image, os, arch string) map[string]any {
	e := descriptor(img.Type, img.Manifest)
	e["platform"] = map[string]any{"os": os, "architecture": arch}
	return e
}

func (s *Stub) list(t testing.TB, entries []any) {
	t.Helper()
	s.Type = "application/vnd.docker.distribution.manifest.list.v2+json"
	s.Manifest = encode(t, map[string]any{"schemaVersion": 2, "mediaType": s.Type, "manifests": entries})
	s.Push(name, s.Image)
}

// Close makes the stub unreachable.
func (s *Stub) Close() { s.server.Close() }

const name = "team/thing:1"

// Ref is a name of the image.
func (s *Stub) Ref() string { return s.Host() + "/" + name }

// Layer is the image's compressed layer, as the registry sends it.
func (s *Stub) Layer() []byte { return s.Layers[0].Packed }
