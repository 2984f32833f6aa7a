package archtest

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"strconv"
)

// lazyViolations reports literals given to lazy.Regexp that do not compile. Otherwise the program
// would end at their first use.
func lazyViolations(f source) (found []string) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || types.ExprString(call.Fun) != "lazy.Regexp" {
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
