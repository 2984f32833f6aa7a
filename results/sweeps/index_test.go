package sweeps_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/results/sweeps"
)

func TestAnIndexIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	want := &sweeps.Index{
		Batch: "devel", Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Argv: []string{"sweep", "-m", "a<b"}, Dir: "/x",
		Cells: []sweeps.Cell{{
			Folder: "a@1", Entry: "a", Attempt: 1, Model: "p/a", Config: []string{"x=1"}, Argv: []string{"run"},
			Parameters: map[string]any{"temperature": 0.5},
		}},
	}
	if sweeps.Is(dir) {
		t.Error("an empty folder is a sweep")
	}
	if _, err := sweeps.Read(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that it does not exist", err)
	}
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := sweeps.Read(dir)
	if err != nil || !sweeps.Is(dir) {
		t.Fatalf("%v, is a sweep: %v", err, sweeps.Is(dir))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if dirs := got.Dirs(dir); len(dirs) != 1 || dirs[0] != filepath.Join(dir, "a@1") {
		t.Errorf("directories %q", dirs)
	}
}

func FuzzIndex(f *testing.F) {
	for _, text := range []string{
		`{"format_version":2,"cells":[{"folder":"a@1","attempt":1}]}`, `{"format_version":2,"cells":[{"folder":"../x"}]}`, `{"format_version":2,"cells":[{"folder":"/etc"}]}`,
		`{"format_version":2,"cells":[{"folder":""}]}`, `{"format_version":2,"cells":[{"folder":"."}]}`, `{"format_version":1}`, `[]`, `{"format_version":2,"cells":{}}`, `{"created":"x"}`, "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, sweeps.File), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := sweeps.Read(dir)
		if err != nil {
			if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), sweeps.File) {
				t.Errorf("%v; want a usage fault that names the file", err)
			}
			return
		}
		for _, path := range x.Dirs(dir) {
			if rel, err := filepath.Rel(dir, path); err != nil || rel == "." || !filepath.IsLocal(rel) {
				t.Errorf("%q is not inside the sweep's folder", path)
			}
		}
	})
}
