package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// slowAtStart are calls that a package variable must not wait for: each command, its help
// too, would pay for all of them.
var slowAtStart = []string{
	"regexp.MustCompile", "regexp.Compile", "regexp2.MustCompile", "template.Must", "json.Unmarshal", "yaml.Unmarshal",
}

func TestNothingIsCompiledAtTheStart(t *testing.T) {
	for _, p := range listed(t) {
		if room := roomOf(p.ImportPath); room == "scripts" || strings.HasSuffix(p.ImportPath, "test") {
			continue // no part of the program
		}
		for _, name := range append(append(p.GoFiles, p.CgoFiles...), p.IgnoredGoFiles...) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f := goFile(t, filepath.Join(p.Dir, name))
			for _, v := range append(startViolations(f), badExpressions(f)...) {
				t.Error(v)
			}
		}
	}
}

// startViolations reports calls of slowAtStart that package variables wait for.
func startViolations(f source) (found []string) {
	for _, decl := range f.Decls {
		if vars, ok := decl.(*ast.GenDecl); !ok || vars.Tok != token.VAR {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if _, later := n.(*ast.FuncLit); later {
				return false
			}
			for _, slow := range slowAtStart {
				if called(n, slow) != nil {
					found = append(found, fmt.Sprintf("%s: %s at the start of the program: use package lazy or sync.OnceValue", f.set.Position(n.Pos()), slow))
				}
			}
			return true
		})
	}
	return found
}

// badExpressions reports literals given to lazy.Regexp that do not compile. Otherwise
// their first use would show it.
func badExpressions(f source) (found []string) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		call := called(n, "lazy.Regexp")
		if call == nil {
			return true
		}
		if expr, ok := literal(call.Args[0]); ok {
			if _, err := regexp.Compile(expr); err != nil {
				found = append(found, fmt.Sprintf("%s: %v", f.set.Position(n.Pos()), err))
			}
		}
		return true
	})
	return found
}

// called returns n if it is a call of package.Function, or nil.
func called(n ast.Node, name string) *ast.CallExpr {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if x, ok := sel.X.(*ast.Ident); !ok || x.Name+"."+sel.Sel.Name != name {
		return nil
	}
	return call
}

// literal returns the string that e is, if it consists of literals only.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, also := literal(e.Y)
		return left + right, ok && also
	}
	return "", false
}

func TestTheStartCheckCatches(t *testing.T) {
	for _, c := range []struct {
		what, src string
		caught    bool
	}{
		{"an expression", "var re = regexp.MustCompile(`a`)", true},
		{"one in a table", "var re = []rule{{regexp.MustCompile(`a`), 1}}", true},
		{"a template", "var page = template.Must(template.New(``).Parse(text))", true},
		{"a postponed expression", "var re = lazy.Regexp(`a`)", false},
		{"a postponed template", "var page = sync.OnceValue(func() any { return template.Must(nil, nil) })", false},
		{"an expression of a function", "func f() { regexp.MustCompile(`a`) }", false},
		{"a mistake", "var re = lazy.Regexp(`(` + `a`)", true},
	} {
		f := parsed(t, "f.go", "package p\n"+c.src)
		if found := append(startViolations(f), badExpressions(f)...); (len(found) > 0) != c.caught {
			t.Errorf("%s: found %q, want a violation: %v", c.what, found, c.caught)
		}
	}
}
