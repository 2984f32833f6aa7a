package abspath_test

import (
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/internal/abspath"
)

func TestAPathThatGoesUpFollowsLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"x/real", "here"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "../c.yaml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../x/real", filepath.Join(root, "here/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "here/c.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(root, "here/link")
	for name, want := range map[string]string{
		"../c.yaml":    filepath.Join(root, "x/c.yaml"),
		"a/b":          filepath.Join(link, "a/b"),
		"./a":          filepath.Join(link, "a"),
		"..a":          filepath.Join(link, "..a"),
		"../none":      filepath.Join(root, "here/none"),
		"/x/../c.yaml": "/x/../c.yaml",
	} {
		if got := abspath.Join(link, name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if got, want := abspath.Join(filepath.Join(root, "here"), "link/../c.yaml"), filepath.Join(root, "x/c.yaml"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
