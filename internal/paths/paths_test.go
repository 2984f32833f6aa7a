package paths_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"batch.example/batch/internal/paths"
)

// home is a folder with the given files.
func home(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFiles(t *testing.T) {
	dir := home(t, "a.yaml", "a.txt", ".hidden.yaml", "add/b.yaml", "other/c.yaml")
	if err := os.Symlink("add", filepath.Join(dir, "alias")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "also")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		prefix  string
		endings []string
		want    []string
	}{
		{"~/a", []string{".yaml"}, []string{"~/a.yaml", "~/add/", "~/alias/"}},
		{"~/a", nil, []string{"~/a.txt", "~/a.yaml", "~/add/", "~/alias/"}},
		{"~/.", []string{".yaml"}, []string{"~/.hidden.yaml"}},
		{"~/add/", []string{".yaml"}, []string{"~/add/b.yaml"}},
		{dir + "/o", nil, []string{dir + "/other/"}},
		{"~/nowhere/", nil, nil},
	} {
		if got := paths.Files(dir, tt.prefix, tt.endings...); !slices.Equal(got, tt.want) {
			t.Errorf("Files(%q, %q) = %q, want %q", tt.prefix, tt.endings, got, tt.want)
		}
	}
}

func TestRunDirectoriesComeFirst(t *testing.T) {
	dir := home(t, "a/x", "runs/one/manifest.json", "runs/two/preds.json", "runs/three/x", "z/manifest.json", "file")
	want := []string{"~/runs/one\trun directory", "~/runs/two\trun directory", "~/z\trun directory", "~/a/", "~/runs/"}
	if got := paths.RunDirectories(dir, "~/"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
