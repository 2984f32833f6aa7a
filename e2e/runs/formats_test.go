package runs

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"batch.example/batch/docs"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
)

// Everything that the demo leaves is described: a page of `batch help` names each member of
// each file.
func TestPagesNameWhatARunLeaves(t *testing.T) {
	tier.Rest(t, "docs", "results", "journal")
	dir := filepath.Join(t.TempDir(), "demo-run")
	e2e.DemoRun(t, dir)
	for _, f := range []struct {
		files string
		pages []string // the first refers to the others
	}{
		{"*/*/*.traj.json", []string{"trajectory"}},
		{"*/*/" + filepath.Base(results.JournalPath("", "")), []string{"journal", "trajectory"}},
		{"*/" + manifest.File, []string{"manifest"}},
		{"*/" + filepath.Base(grades.Path("")), []string{"grades", "journal"}},
	} {
		names := map[string]bool{}
		for _, path := range matches(t, dir, f.files) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for d := json.NewDecoder(bytes.NewReader(text)); d.More(); {
				var v any
				if err := d.Decode(&v); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				members(v, names)
			}
		}
		wantNamed(t, names, f.pages...)
	}
	columns := map[string]bool{}
	for _, path := range matches(t, dir, "*/results.parquet") {
		for _, path := range columnsOf(t, path) {
			columns[path[0]] = true
		}
	}
	wantNamed(t, columns, "results")
}

func matches(t *testing.T, dir, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(list) == 0 {
		t.Fatalf("no files are %s: %v", pattern, err)
	}
	return list
}

// below lists members that have members named by the user or the provider.
var below = []string{"config", "response", "images", "metadata"}

// members adds the names of all members of v that batch named.
func members(v any, names map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			members(element, names)
		}
	case map[string]any:
		for name, member := range v {
			names[name] = true
			if !slices.Contains(below, name) {
				members(member, names)
			}
		}
	}
}

func columnsOf(t *testing.T, path string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	return file.Schema().Columns()
}

func wantNamed(t *testing.T, names map[string]bool, pages ...string) {
	t.Helper()
	var text string
	for _, p := range docs.Pages {
		if slices.Contains(pages, p.Name) {
			text += p.Text()
		}
	}
	if len(names) < 10 {
		t.Errorf("only %d members were found for page %s", len(names), pages[0])
	}
	for name := range names {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(text) {
			t.Errorf("`batch help %s` does not name %s", pages[0], name)
		}
	}
}
