package docker_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docker/docker/api/types/image"
)

// layerSize is the size of the file in the stub's image.
const layerSize = 400 << 10

// registry is a registry on loopback with one image of one layer, which the
// engine takes over plain HTTP. Set fail before the first request.
type registry struct {
	*httptest.Server
	manifests, blobs atomic.Int64 // requests, HEAD aside

	fail             func(w http.ResponseWriter, r *http.Request) bool // true: has answered
	manifest, config []byte
	layer            []byte
	kind             string
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{kind: "application/vnd.docker.distribution.manifest.v2+json"}
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	data := make([]byte, layerSize) // random, so that no other test has the layer
	_, _ = rand.Read(data)
	if err := w.WriteHeader(&tar.Header{Name: "data", Mode: 0o644, Size: int64(len(data))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(plain.Bytes())
	_ = z.Close()
	r.layer = packed.Bytes()
	r.config = marshal(t, map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{sum(plain.Bytes())}},
	})
	r.manifest = marshal(t, map[string]any{
		"schemaVersion": 2, "mediaType": r.kind,
		"config": blob("application/vnd.docker.container.image.v1+json", r.config),
		"layers": []any{blob("application/vnd.docker.image.rootfs.diff.tar.gzip", r.layer)},
	})
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	t.Cleanup(func() {
		_, _ = raw(t).ImageRemove(context.Background(), r.ref(), image.RemoveOptions{Force: true})
	})
	return r
}

func (r *registry) host() string { return strings.TrimPrefix(r.URL, "http://") }

func (r *registry) ref() string { return r.host() + "/team/thing:1" }

func (r *registry) serve(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Docker-Distribution-Api-Version", "registry/2.0")
	if r.fail != nil && r.fail(w, q) {
		return
	}
	var body []byte
	switch {
	case q.URL.Path == "/v2/":
		return
	case strings.Contains(q.URL.Path, "/manifests/"):
		if q.Method == http.MethodGet {
			r.manifests.Add(1)
		}
		w.Header().Set("Content-Type", r.kind)
		w.Header().Set("Docker-Content-Digest", sum(r.manifest))
		body = r.manifest
	case strings.HasSuffix(q.URL.Path, sum(r.config)):
		body = r.config
	case strings.HasSuffix(q.URL.Path, sum(r.layer)):
		r.blobs.Add(1)
		body = r.layer
	default:
		http.NotFound(w, q)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if q.Method == http.MethodGet {
		_, _ = io.Copy(w, bytes.NewReader(body))
	}
}

// refuse answers like a registry that says no.
func refuse(status int, code, text string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="stub"`)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, text)
		return true
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sum(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func blob(kind string, b []byte) map[string]any {
	return map[string]any{"mediaType": kind, "size": len(b), "digest": sum(b)}
}
