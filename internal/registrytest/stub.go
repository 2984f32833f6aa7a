package registrytest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
)

// LayerSize is the size of the file in a stub's image.
const LayerSize = 400 << 10

// Stub is a registry in this process with one image of one layer, under any
// name. Set Fault and change the image before the first request.
type Stub struct {
	*Image
	Fault Fault

	ManifestGets, BlobGets atomic.Int64 // requests, HEAD aside

	blobs  map[string]blob // by digest, besides the image's own
	server *httptest.Server
}

// NewStub starts a stub that ends with the test.
func NewStub(t testing.TB) *Stub {
	t.Helper()
	s := &Stub{Image: NewImage(t, NewLayer(t, LayerSize))}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

type blob struct {
	kind string
	data []byte
}

// Offer makes the stub's image one for each of the architectures of Linux, with
// the same layer.
func (s *Stub) Offer(t testing.TB, archs ...string) {
	t.Helper()
	s.blobs = map[string]blob{}
	var entries []any
	for _, arch := range archs {
		img := newImage(t, arch, s.Layers...)
		entry := descriptor(img.Type, img.Manifest)
		entry["platform"] = map[string]any{"os": "linux", "architecture": arch}
		entries = append(entries, entry)
		s.blobs[Digest(img.Manifest)] = blob{img.Type, img.Manifest}
		s.blobs[Digest(img.Config)] = blob{"application/octet-stream", img.Config}
	}
	s.Type = listType
	s.Manifest = encode(t, map[string]any{"schemaVersion": 2, "mediaType": s.Type, "manifests": entries})
}

// Close makes the stub unreachable.
func (s *Stub) Close() { s.server.Close() }

// Host is the stub's address as it stands in an image's name.
func (s *Stub) Host() string { return strings.TrimPrefix(s.server.URL, "http://") }

// Ref is a name of the image.
func (s *Stub) Ref() string { return s.Host() + "/team/thing:1" }

// Layer is the image's layer as it is sent.
func (s *Stub) Layer() []byte { return s.Layers[0].Packed }

func (s *Stub) serve(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if s.Fault != nil && s.Fault(w, q) {
		return
	}
	var body []byte
	more, here := s.blobs[path.Base(q.URL.Path)]
	switch {
	case q.URL.Path == "/v2/":
		return
	case here:
		w.Header().Set("Content-Type", more.kind)
		w.Header().Set("Docker-Content-Digest", path.Base(q.URL.Path))
		body = more.data
	case strings.Contains(q.URL.Path, "/manifests/"):
		if q.Method == http.MethodGet {
			s.ManifestGets.Add(1)
		}
		w.Header().Set("Content-Type", s.Type)
		w.Header().Set("Docker-Content-Digest", Digest(s.Manifest))
		body = s.Manifest
	case strings.HasSuffix(q.URL.Path, Digest(s.Config)):
		body = s.Config
	case strings.HasSuffix(q.URL.Path, Digest(s.Layer())):
		s.BlobGets.Add(1)
		body = s.Layer()
	default:
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if q.Method == http.MethodGet {
		_, _ = io.Copy(w, bytes.NewReader(body))
	}
}
