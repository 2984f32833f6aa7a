package vocab_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// constants are the values of the constants of a type in a file.
func constants(t *testing.T, file, typ string) (values []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == typ {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text)
		}
		return true
	})
	return values
}

// The package comments of vocab and fault are a page for users.
func TestThePageNamesEveryConstant(t *testing.T) {
	page, err := os.ReadFile("../docs/statuses.md")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string][]string{
		"Status":  constants(t, "status.go", "Status"),
		"Outcome": constants(t, "outcome.go", "Outcome"),
		"Verdict": constants(t, "verdict.go", "Verdict"),
	}
	for typ, values := range words {
		if len(values) < 7 {
			t.Errorf("%s has only the constants %q", typ, values)
		}
		for _, v := range values {
			if !regexp.MustCompile(`(?m)(^|[\s(])` + regexp.QuoteMeta(v) + `([\s.,:;)]|$)`).Match(page) {
				t.Errorf("docs/statuses.md does not name the %s %q", typ, v)
			}
		}
	}
	if !slices.Contains(words["Status"], "Submitted") {
		t.Errorf("the statuses are %q, want Submitted among them", words["Status"])
	}
}
