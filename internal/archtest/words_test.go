package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// People and other tools rely on the text of an exit status, so it is written in
// one place.
func TestNoExitStatusIsWrittenOutsideVocab(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "vocab", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var statuses []string
	for _, name := range files {
		statuses = append(statuses, statusesIn(t, goFile(t, name))...)
	}
	if len(statuses) < 20 {
		t.Fatalf("only %d exit statuses are found in vocab: %q", len(statuses), statuses)
	}
	for _, p := range listed(t) {
		if roomOf(p.ImportPath) == "vocab" {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, v := range written(t, goFile(t, filepath.Join(p.Dir, name)), statuses) {
				t.Errorf("%s: use the constant of package vocab", v)
			}
		}
	}
}

func TestTheStatusCheckCatches(t *testing.T) {
	words := statusesIn(t, parsed(t, "vocab.go", `package vocab; const ( A Status = "Done"; B Outcome = "done"; C = "x" )`))
	if !slices.Equal(words, []string{"Done"}) {
		t.Errorf("found %q in vocab, want words %v", words, []string{"Done"})
	}
	for src, caught := range map[string]bool{
		`package p; var a = "Done"`: true,
		"package p; var a = `Done`": true,
		`package p; func f(s string) bool { switch s { case "x", "Done": }; return true }`: true,
		`package p; var a = "Done so"`:              false,
		`package p; type t struct { a int "Done" }`: true,
		`package p; import "Done"`:                  false,
		`package p // "Done"`:                       false,
	} {
		if found := written(t, parsed(t, "f.go", src), words); (len(found) > 0) != caught {
			t.Errorf("%s: found %q, want it caught: %v", src, found, caught)
		}
	}
}

// source is a file, where its nodes stand, and its text.
type source struct {
	*ast.File
	set  *token.FileSet
	text string
}

// sources are the files of the program that were parsed, by their absolute names. Those of
// tests are wanted once, and would only be work for the garbage collector.
var sources = map[string]source{}

// goFile returns a file of the module.
func goFile(t *testing.T, path string) source {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := sources[path]
	if !ok {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f = parsed(t, path, string(text))
		if !strings.HasSuffix(path, "_test.go") {
			sources[path] = f
		}
	}
	return f
}

func parsed(t *testing.T, name, text string) source {
	t.Helper()
	f, err := parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func parse(name, text string) (source, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{f, set, text}, err
}

// statusesIn returns the values of the constants of type Status.
func statusesIn(t *testing.T, f source) []string {
	t.Helper()
	var found []string
	ast.Inspect(f.File, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "Status" {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok {
				found = append(found, unquoted(t, lit))
			}
		}
		return true
	})
	return found
}

// written reports where f contains one of the words as a string.
func written(t *testing.T, f source, words []string) []string {
	t.Helper()
	var found []string
	ast.Inspect(f.File, func(n ast.Node) bool {
		if _, ok := n.(*ast.ImportSpec); ok {
			return false
		}
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text := unquoted(t, lit); slices.Contains(words, text) {
			found = append(found, fmt.Sprintf("%s writes %s", f.set.Position(lit.Pos()), lit.Value))
		}
		return true
	})
	return found
}

func unquoted(t *testing.T, lit *ast.BasicLit) string {
	t.Helper()
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
