// Package lazy postpones what a start of the program should not pay for until it is needed.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that compiles expr at its first call. It panics there if expr
// has a mistake; a test of internal/archtest compiles every literal.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
