package designs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// statements returns the items of the package comment by section.
func statements(t *testing.T) map[string][]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	section := ""
	for line := range strings.Lines(f.Doc.Text()) {
		line = strings.TrimRight(line, "\n")
		items := found[section]
		switch {
		case strings.HasPrefix(line, "# "):
			section = line[2:]
		case strings.HasPrefix(line, "  - "):
			found[section] = append(items, line[4:])
		case strings.HasPrefix(line, "    "):
			items[len(items)-1] += " " + strings.TrimSpace(line)
		}
	}
	return found
}

var (
	symbol = regexp.MustCompile(`\[([a-z0-9]+(?:/[a-z0-9]+)*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?\]`)
	test   = regexp.MustCompile(`\b([a-z0-9]+(?:/[a-z0-9]+)*)\.((?:Test|Fuzz)[A-Z0-9]\w*)`)
)

// Every statement names its code and a test, or says why it is not done. Everything that is named
// exists.
func TestEveryStatementNamesWhatExists(t *testing.T) {
	found := statements(t)
	if n := len(slices.Collect(maps.Keys(found))); n != 5 {
		t.Fatalf("%d sections, want 5", n)
	}
	code := map[string]map[string]bool{}
	for section, items := range found {
		if len(items) < 9 {
			t.Errorf("section %q has only %d statements", section, len(items))
		}
		for _, item := range items {
			symbols, tests := symbol.FindAllStringSubmatch(item, -1), test.FindAllStringSubmatch(item, -1)
			if !strings.Contains(item, "Not done: ") && (len(symbols) == 0 || len(tests) == 0) {
				t.Errorf("%s: it names no code, or no test: %s", section, item)
			}
			for _, m := range symbols {
				name := strings.TrimSuffix(m[2]+"."+m[3], ".")
				if !declared(t, code, m[1])[name] {
					t.Errorf("%s: there is no %s.%s", section, m[1], name)
				}
			}
			for _, m := range tests {
				if !declared(t, code, m[1])[m[2]] {
					t.Errorf("%s: there is no test %s.%s", section, m[1], m[2])
				}
			}
		}
	}
}

// declared returns the names that a package and its tests declare at the top level, and the names
// of methods with their type.
func declared(t *testing.T, known map[string]map[string]bool, pkg string) map[string]bool {
	t.Helper()
	if names, ok := known[pkg]; ok {
		return names
	}
	names := map[string]bool{}
	known[pkg] = names
	dir := filepath.Join("..", filepath.FromSlash(pkg))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
		return names
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".go" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			maps.Copy(names, namesOf(d))
		}
	}
	return names
}

func namesOf(d ast.Decl) map[string]bool {
	names := map[string]bool{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		names[receiver(d)+d.Name.Name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names[spec.Name.Name] = true
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					names[n.Name] = true
				}
			}
		}
	}
	return names
}

// receiver returns the type of a method with a dot, or "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if id, ok := typ.(*ast.Ident); ok {
		return id.Name + "."
	}
	return "" // of a generic type
}
