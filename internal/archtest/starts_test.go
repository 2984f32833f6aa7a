package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
)

// slowAtStart are calls that a package variable must not wait for: each command, its help
// too, would pay for all of them.
var slowAtStart = []string{
	"regexp.MustCompile", "regexp.Compile", "regexp2.MustCompile", "template.Must", "json.Unmarshal", "yaml.Unmarshal",
}

// startViolations reports calls of slowAtStart that package variables wait for, and literals given to
// lazy.Regexp that do not compile. Otherwise their first use would show it.
func startViolations(f source) (found []string) {
	found = badExpressions(f)
	for _, decl := range f.Decls {
		if vars, ok := decl.(*ast.GenDecl); !ok || vars.Tok != token.VAR {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if _, later := n.(*ast.FuncLit); later {
				return false
			}
			if call := called(n, slowAtStart...); call != nil {
				found = append(found, fmt.Sprintf("%s: %s at the start of the program: use package lazy or sync.OnceValue", f.set.Position(n.Pos()), types.ExprString(call.Fun)))
			}
			return true
		})
	}
	return found
}

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

// called returns n if it is a call of one of the functions, which are written package.Function.
func called(n ast.Node, functions ...string) *ast.CallExpr {
	if call, ok := n.(*ast.CallExpr); ok && slices.Contains(functions, types.ExprString(call.Fun)) {
		return call
	}
	return nil
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
