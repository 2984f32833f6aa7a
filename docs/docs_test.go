package docs

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pages")

func TestPagesAreCurrent(t *testing.T) {
	known := map[string]bool{}
	for _, p := range Pages {
		file := p.Name + ".md"
		known[file] = true
		want := p.render(t)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the comment of %s (%v): run go generate ./docs", file, p.source(), err)
		}
	}
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[file] {
			t.Errorf("%s is not a page", file)
		}
	}
}

// aPackage begins a package's comment. Its page is about the program.
var aPackage = regexp.MustCompile(`^Package \w+ `)

// render returns the page that the packages' comments give. What the printer writes for a
// terminal is also Markdown, except its headings.
func (p Page) render(t *testing.T) []byte {
	t.Helper()
	linked := comment.Parser{ // links are words here
		LookupPackage: func(name string) (string, bool) { return name, true },
		LookupSym:     func(_, _ string) bool { return true },
	}
	parsed := linked.Parse(p.comments(t))
	printer := comment.Printer{TextWidth: 80, TextCodePrefix: "    "}
	body := bytes.ReplaceAll(printer.Text(parsed), []byte("\n# "), []byte("\n## "))
	return append([]byte("# "+p.Title+"\n\n<!-- go generate ./docs: the comment of "+p.source()+endOfMark+"\n"), body...)
}

func (p Page) source() string { return "package " + strings.Join(p.Packages, ", then of package ") }

// comments are those of the packages, one after the other.
func (p Page) comments(t *testing.T) string {
	t.Helper()
	var all []string
	for _, pkg := range p.Packages {
		var text string
		for _, file := range sources(t, filepath.Join("..", pkg)) {
			if file.Doc != nil {
				text += file.Doc.Text()
			}
		}
		if text == "" {
			t.Fatalf("package %s has no comment", pkg)
		}
		all = append(all, aPackage.ReplaceAllString(text, "Batch "))
	}
	return strings.Join(all, "\n")
}

func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources in %s: %v", dir, err)
	}
	var list []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, file)
	}
	return list
}
