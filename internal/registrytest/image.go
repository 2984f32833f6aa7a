package registrytest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
)

// Image is a small image as a registry stores it.
type Image struct {
	Type             string // of the manifest
	Manifest, Config []byte
	Layers           []Layer
}

// Layer is one layer of an image: the compressed tar, and the digest of the uncompressed tar.
type Layer struct {
	Packed []byte
	DiffID string
}

// NewLayer returns a layer of one file with size random bytes, which no other
// test has.
func NewLayer(t testing.TB, size int) Layer {
	t.Helper()
	data := make([]byte, size)
	_, _ = rand.Read(data)
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	if err := w.WriteHeader(&tar.Header{Name: rand.Text(), Mode: 0o644, Size: int64(size)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return PackLayer(plain.Bytes())
}

// PackLayer returns a layer with the content of a tar.
func PackLayer(plain []byte) Layer {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(plain) // into memory
	_ = z.Close()
	return Layer{Packed: packed.Bytes(), DiffID: Digest(plain)}
}

// NewImage returns an image of the layers, with an entry for each in its history.
func NewImage(t testing.TB, layers ...Layer) *Image {
	t.Helper()
	return newImage(t, "amd64", layers...)
}

func newImage(t testing.TB, arch string, layers ...Layer) *Image {
	t.Helper()
	var diffs []string
	var history, blobs []map[string]any
	for _, l := range layers {
		diffs = append(diffs, l.DiffID)
		history = append(history, map[string]any{"created": "2024-01-01T00:00:00Z", "created_by": "COPY data /"})
		blobs = append(blobs, descriptor("application/vnd.docker.image.rootfs.diff.tar.gzip", l.Packed))
	}
	img := &Image{Type: "application/vnd.docker.distribution.manifest.v2+json", Layers: layers}
	img.Config = encode(t, map[string]any{
		"architecture": arch, "os": "linux", "config": map[string]any{},
		"history": history, "rootfs": map[string]any{"type": "layers", "diff_ids": diffs},
	})
	img.Manifest = encode(t, map[string]any{
		"schemaVersion": 2, "mediaType": img.Type, "layers": blobs,
		"config": descriptor("application/vnd.docker.container.image.v1+json", img.Config),
	})
	return img
}

// Digest returns the digest of b, by which a registry identifies it.
func Digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func descriptor(kind string, b []byte) map[string]any {
	return map[string]any{"mediaType": kind, "size": len(b), "digest": Digest(b)}
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
