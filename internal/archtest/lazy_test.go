package archtest

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
)

// lazyViolations reports literals given to lazy.Regexp that do not compile. Otherwise the program
// would end at their first use.
func lazyViolations(f source) (found []string) {
	ast.Inspect(f.File, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || types.ExprString(call.Fun) != "lazy.Regexp" {
			return true
		}
		expr, err := types.Eval(f.set, nil, token.NoPos, types.ExprString(call.Args[0]))
		if err != nil || expr.Value == nil {
			return true // it is put together when it is used
		}
		if _, err := regexp.Compile(constant.StringVal(expr.Value)); err != nil {
			found = append(found, fmt.Sprintf("%s: %v", f.set.Position(n.Pos()), err))
		}
		return true
	})
	return found
}
