package enginetest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Root returns a tar of a root file system with the named programs of this
// machine and the libraries that they need. More maps the paths of further files, without
// a leading slash, to their content.
func Root(programs []string, more map[string]string) ([]byte, error) {
	files := map[string]string{} // path in the image -> path on this machine
	for _, program := range programs {
		at, err := exec.LookPath(program)
		if err != nil {
			return nil, err
		}
		files["usr/bin/"+program] = at
		out, err := exec.Command("ldd", at).Output()
		if err != nil {
			return nil, fmt.Errorf("ldd %s: %w", at, err)
		}
		for word := range strings.FieldsSeq(string(out)) {
			if filepath.IsAbs(word) {
				files[word[1:]] = word
			}
		}
	}
	contents := map[string]string{}
	maps.Copy(contents, more)
	for name, from := range files {
		data, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		contents[name] = string(data)
	}
	return pack(contents)
}

// Directory returns a directory with the file system of [Root], for an engine whose images are
// directories.
func Directory(t testing.TB, programs []string, more map[string]string) string {
	t.Helper()
	root, err := Root(programs, more)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command("tar", "-xC", dir)
	cmd.Stdin = bytes.NewReader(root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func pack(files map[string]string) ([]byte, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, dir := range []string{"tmp", "root", "dev", "proc", "sys", "etc", "testbed"} {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o777}); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755, Size: int64(len(files[name]))}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			return nil, err
		}
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin", Linkname: "usr/bin"}); err != nil {
		return nil, err
	}
	err := w.Close()
	return buf.Bytes(), err
}
