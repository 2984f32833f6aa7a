package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
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
	{"grades", "json", []string{"results/grades/*.go"}},
	{"results", "parquet", []string{"results/record.go"}},
	{"data", "json", []string{"results/export/attempt.go"}},
}

func TestPagesNameEveryMember(t *testing.T) {
	for _, f := range formats {
		names := map[string]bool{}
		for _, pattern := range f.sources {
			for _, file := range parsed(t, pattern) {
				tagged(file, f.tag, names)
			}
		}
		wantNamed(t, f.page, names)
	}
}

func TestTheTrajectoryPageNamesWhatBatchAddsToMessages(t *testing.T) {
	names := map[string]bool{}
	for _, file := range parsed(t, "agent/*.go") {
		extras(file, names)
	}
	wantNamed(t, "trajectory", names)
}

func TestTheJournalPageNamesEveryRecord(t *testing.T) {
	names := map[string]bool{}
	for _, file := range parsed(t, "journal/record.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Type") {
				literals(v.Values[0], names)
			}
			return true
		})
	}
	wantNamed(t, "journal", names)
}

func wantNamed(t *testing.T, topic string, names map[string]bool) {
	t.Helper()
	if len(names) < 10 {
		t.Errorf("only %d names were found for page %s", len(names), topic)
	}
	for _, p := range Pages {
		if p.Name != topic {
			continue
		}
		for name := range names {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(p.Text()) {
				t.Errorf("`batch help %s` does not name %s", topic, name)
			}
		}
		return
	}
	t.Errorf("there is no page %s", topic)
}

// parsed returns the sources, without tests, that match a pattern below the module.
func parsed(t *testing.T, pattern string) (list []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no sources are %s: %v", pattern, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, file)
	}
	return list
}

// tagged adds the names that the fields of structs have by a tag.
func tagged(file *ast.File, tag string, names map[string]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			text, _ := strconv.Unquote(f.Tag.Value)
			name, _, _ := strings.Cut(reflect.StructTag(text).Get(tag), ",")
			if name != "" && name != "-" {
				names[name] = true
			}
		}
		return true
	})
}

// extras adds the keys that are set in what is called extra, or in the record of an action.
func extras(file *ast.File, names map[string]bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if index, ok := left.(*ast.IndexExpr); ok && isExtra(index.X) {
					literals(index.Index, names)
				} else if isExtra(left) && i < len(n.Rhs) {
					keys(n.Rhs[i], names)
				}
			}
		case *ast.KeyValueExpr:
			if isExtra(n.Key) {
				keys(n.Value, names)
			}
		case *ast.FuncDecl:
			if n.Recv != nil && n.Name.Name == "record" && n.Type.Params.NumFields() == 0 {
				literals(n.Body, names)
			}
		}
		return true
	})
}

func isExtra(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.EqualFold(e.Name, "extra")
	case *ast.SelectorExpr:
		return isExtra(e.Sel)
	}
	return false
}

// keys adds the keys of a map that is written out.
func keys(e ast.Expr, names map[string]bool) {
	if written, ok := e.(*ast.CompositeLit); ok {
		for _, element := range written.Elts {
			literals(element.(*ast.KeyValueExpr).Key, names)
		}
	}
}

// literals adds the texts in a piece of code.
func literals(in ast.Node, names map[string]bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, _ := strconv.Unquote(l.Value)
			if text != "" {
				names[text] = true
			}
		}
		return true
	})
}
