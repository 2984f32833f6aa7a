package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every statement names its code and a test, or says why it is not done. Everything that is named
// exists.
func TestEveryStatementNamesWhatExists(t *testing.T) {
	doc, err := os.ReadFile("designs.md")
	if err != nil {
		t.Fatal(err)
	}
	symbol := regexp.MustCompile(`\b([a-z][a-z0-9/]+)\.(?:([A-Z]\w*)\.)?([A-Z]\w*)`)
	isTest := regexp.MustCompile(`^(Test|Fuzz)[A-Z0-9]`)
	sources := map[string]string{}
	items := regexp.MustCompile(`\n  - `).Split(string(doc), -1)[1:]
	if len(items) < 50 {
		t.Errorf("only %d statements", len(items))
	}
	for _, item := range items {
		named := symbol.FindAllStringSubmatch(item, -1)
		tests := slices.ContainsFunc(named, func(m []string) bool { return isTest.MatchString(m[3]) })
		code := slices.ContainsFunc(named, func(m []string) bool { return !isTest.MatchString(m[3]) })
		if !strings.Contains(strings.Join(strings.Fields(item), " "), "Not done: ") && (!code || !tests) {
			t.Errorf("it names no code, or no test: %s", item)
		}
		for _, m := range named {
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
