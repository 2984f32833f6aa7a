package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// formats are the sources of a file's members, by the page that describes it, and the struct
// tag that names them.
var formats = []struct {
	page, tag string
	sources   []string
}{
	{"trajectory", "json", []string{"results/trajectory.go", "results/record.go", "llm/messagejson.go", "llm/layout.go", "vocab/usage.go"}},
	{"journal", "json", []string{"journal/*.go", "results/attempt.go", "results/store.go", "results/manifest/settings.go", "vocab/output.go"}},
	{"manifest", "json", []string{"results/manifest/manifest.go", "results/manifest/differences.go", "vocab/price.go"}},
	{"verdict-files", "json", []string{"results/grades/*.go"}},
	{"run-directory", "parquet", []string{"results/record.go"}},
	{"training-data", "json", []string{"results/export/attempt.go"}},
}

// ofBrowser are the sources of members that only the browser's pages have.
var ofBrowser = []string{"../journal/attempt.go", "../journal/mark.go"}

func TestPagesNameEveryMember(t *testing.T) {
	texts := map[string]string{}
	for _, p := range Pages {
		texts[p.Name] = p.Text()
	}
	for _, f := range formats {
		found := 0
		for _, pattern := range f.sources {
			for _, file := range sources(t, pattern) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range regexp.MustCompile(f.tag+`:"([\w.]+)`).FindAllStringSubmatch(string(text), -1) {
					found++
					if !regexp.MustCompile(`\b` + regexp.QuoteMeta(m[1]) + `\b`).MatchString(texts[f.page]) {
						t.Errorf("`batch help %s` does not name %s", f.page, m[1])
					}
				}
			}
		}
		if found < 10 {
			t.Errorf("only %d names were found for page %s", found, f.page)
		}
	}
}

// sources returns the files, without tests and ofBrowser, that match a pattern below the module.
func sources(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources are %s: %v", pattern, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") || slices.Contains(ofBrowser, name) })
}
