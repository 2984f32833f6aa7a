package designs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every statement names its code and a test, or says why it is not done. Everything that is named
// exists.
func TestEveryStatementNamesWhatExists(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	symbol := regexp.MustCompile(`\[([a-z0-9/]+)\.(?:([A-Z]\w*)\.)?([A-Z]\w*)\]`)
	test := regexp.MustCompile(`\b([a-z0-9/]+)\.()((?:Test|Fuzz)[A-Z0-9]\w*)`)
	sources := map[string]string{}
	items := regexp.MustCompile(`\n//   - `).Split(string(doc), -1)[1:]
	if len(items) < 50 {
		t.Errorf("only %d statements", len(items))
	}
	for _, item := range items {
		symbols, tests := symbol.FindAllStringSubmatch(item, -1), test.FindAllStringSubmatch(item, -1)
		if !strings.Contains(item, "Not done: ") && (len(symbols) == 0 || len(tests) == 0) {
			t.Errorf("it names no code, or no test: %s", item)
		}
		for _, m := range append(symbols, tests...) {
			if sources[m[1]] == "" {
				sources[m[1]] = sourcesOf(t, m[1])
			}
			declared := `(?m)^(?:func|type|var|const|\t)\s*` + m[3] + `\b`
			if m[2] != "" {
				declared = `(?m)^func \(\w* ?\*?` + m[2] + `(?:\[.*\])?\) ` + m[3] + `\(`
			}
			if !regexp.MustCompile(declared).MatchString(sources[m[1]]) {
				t.Errorf("there is no %s", m[0])
			}
		}
	}
}

func sourcesOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(pkg), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
