package enginetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
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
		out, err := exec.Command("ldd", at).CombinedOutput()
		if err != nil && !bytes.Contains(out, []byte("not a dynamic executable")) {
			return nil, fmt.Errorf("ldd %s: %w: %s", at, err, out)
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

// Testbed returns an image for sandbox/engine/memory: this machine's root file system, with a git
// repository in /testbed. The repository has one commit with the given files, made like the
// commit of scripts/demo-images, so that it has the base commit of a demo instance. Testbed skips
// the test if the machine lacks one of the programs.
func Testbed(t testing.TB, files fs.FS, programs ...string) string {
	t.Helper()
	for _, program := range append(programs, "git") {
		if _, err := os.Stat("/usr/bin/" + program); err != nil { // PATH may have a folder that a container lacks
			Lacks(t, "no %s in the test's containers: %v", program, err)
		}
	}
	dir := t.TempDir()
	testbed := filepath.Join(dir, "testbed")
	if err := errors.Join(os.Chmod(dir, 0o755), os.CopyFS(testbed, files)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-ec", `find . -type d -exec chmod 755 {} +
find . -type f -exec chmod 644 {} +
git init -q -b main
git config user.name 'Batch Demo'
git config user.email demo@batch.example
git add -A -f .
git commit -q -m 'Initial import'`)
	cmd.Dir = testbed
	const date = "2024-01-01T00:00:00+0000"
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir + ":/"
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
