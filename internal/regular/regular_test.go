package regular

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("text"), 0o600), os.Symlink("file", at("link")),
		syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("/dev/zero", at("device")), os.Mkdir(at("folder"), 0o700),
		os.WriteFile(at("large"), nil, 0o600), os.Truncate(at("large"), Largest+1),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"file": "", "link": "", "pipe": "it is a named pipe", "device": "it is a device", "folder": "it is a folder",
		"large": "want at most", "none": "no such file",
	} {
		text, err := ReadFile(at(name))
		if want == "" && (err != nil || string(text) != "text") || want != "" && (err == nil || !strings.Contains(err.Error(), at(name)) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v; want an error with its name and %q", name, text, err, want)
		}
	}
	for _, name := range []string{"pipe", "device"} { // a pipe without a reader, and one that could be written to
		if f, err := OpenFile(at(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
			f.Close()
			t.Errorf("%s was opened to write to it", name)
		}
	}
	f, err := OpenFile(at("link"), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if text, err := ReadFile(at("file")); err != nil || len(text) != 0 {
		t.Errorf("the file has %q (%v), want nothing", text, err)
	}
}

// These rooms read directories of somebody else.
func TestRoomsThatReadRunDirectoriesOpenFilesHere(t *testing.T) {
	own := []string{
		"internal/swebench/predictions.go", // a person may name a pipe
		"results/export/atif.go",           // writes a new file
	}
	for _, room := range []string{"audit", "internal/swebench", "journal", "llm/cassette", "results", "sandbox/images", "view", "run/merging", "run/rundir", "run/selecting"} {
		err := fs.WalkDir(os.DirFS("../.."), room, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || slices.Contains(own, path) {
				return err
			}
			text, err := os.ReadFile(filepath.Join("../..", path))
			if call := regexp.MustCompile(`\bos\.(Open|OpenFile|ReadFile)\(`).Find(text); call != nil {
				t.Errorf("%s calls %s), want that of this package", path, call)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
