package verifier

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// archiveOf returns an archive of empty files: a name, or link>target, or hard=target, or folder/.
func archiveOf(t *testing.T, list ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, item := range list {
		h := &tar.Header{Name: item, Typeflag: tar.TypeReg, Mode: 0o644}
		if name, target, ok := strings.Cut(item, ">"); ok {
			h = &tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeSymlink}
		} else if name, target, ok := strings.Cut(item, "="); ok {
			h = &tar.Header{Name: name, Linkname: target, Typeflag: tar.TypeLink}
		} else if strings.HasSuffix(item, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Only what a task declares gets into the container of its verifier, whatever the agent's programs have packed.
func TestArtifactsAreOnlyWhatTheTaskDeclares(t *testing.T) {
	allowed := []string{"/logs/artifacts", "/app/out"}
	for _, c := range []struct {
		list []string
		good bool
	}{
		{nil, true},
		{[]string{"./logs/artifacts/", "./logs/artifacts/a", "./app/out"}, true},
		{[]string{"app/out/", "app/out/a", "app/out/l>a", "app/out/h=./app/out/a", "app/out/outside>/etc"}, true},
		{[]string{"tests/test.sh"}, false},
		{[]string{"app/outside"}, false},
		{[]string{"app/"}, false},
		{[]string{"app/out/../../tests/test.sh"}, false},
		{[]string{"/tests/test.sh"}, false},
		{[]string{"app/out/l>/tests", "app/out/l/test.sh"}, false},
		{[]string{"app/out>/tests", "app/out/test.sh"}, false},
		{[]string{"app/out/l>/tests", "app/out/l/"}, false},
		{[]string{"app/out/l>/tests/test.sh", "app/out/l"}, false},
		{[]string{"app/out/h=/tests/test.sh"}, false},
		{[]string{"app/out/l>/tests", "app/out/h=app/out/l", "app/out/h/test.sh"}, false},
		{[]string{"app/out/l>/tests", "app/out/h=app/out/l/test.sh"}, false},
		{[]string{"app/out/h=app/out/../../tests/test.sh"}, false},
	} {
		var out bytes.Buffer
		err := repack(bytes.NewReader(archiveOf(t, c.list...)), &out, allowed)
		if (err == nil) != c.good || err != nil && !errors.Is(err, errArtifacts) {
			t.Errorf("%q: %v, want good %v", c.list, err, c.good)
		}
		if err != nil {
			continue
		}
		var got, want []string
		for r := tar.NewReader(&out); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, h.Name)
		}
		for _, item := range c.list {
			name, _, _ := strings.Cut(item, ">")
			name, _, _ = strings.Cut(name, "=")
			want = append(want, strings.Trim(strings.TrimPrefix(name, "."), "/"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q became %q", c.list, got)
		}
	}
	if err := repack(strings.NewReader(strings.Repeat("no archive ", 100)), io.Discard, allowed); !errors.Is(err, errArtifacts) {
		t.Errorf("no archive: %v", err)
	}
}

// No archive, however broken, brings a file to another place.
func FuzzRepack(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		if repack(bytes.NewReader(data), &out, []string{"/app"}) != nil {
			return
		}
		for r := tar.NewReader(&out); ; {
			h, err := r.Next()
			if err != nil {
				return
			}
			if h.Name != "app" && h.Name != "app/" && !strings.HasPrefix(h.Name, "app/") || strings.Contains(h.Name, "..") {
				t.Errorf("it brings %q", h.Name)
			}
		}
	})
}
