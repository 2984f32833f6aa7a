package template

import (
	"fmt"
	"strings"
)

// renderer is the state of one rendering. It reports a failure by a panic with a *mistake.
type renderer struct {
	vars    Vars
	scope   *scope
	top     *scope // scope of the template; nil while constants are evaluated
	loop    *loop
	out     *strings.Builder
	at      int    // offset of the current operation, for a mistake without a place
	applied string // the filter, test or method that runs
	level   int    // nesting of macros
	size    int    // size of all built values, of the output and of the rounds of loops
}

// captured returns the output of statements.
func (r *renderer) captured(list []statement) string {
	outer := r.out
	r.out = &strings.Builder{}
	r.run(list)
	s := r.out.String()
	r.out = outer
	return s
}

func (r *renderer) write(s string) {
	r.spend(len(s))
	r.out.WriteString(s)
}

// Bounds that make every rendering end.
const (
	maxSize   = 1 << 26 // bytes of one value, and of all together
	itemSize  = 16      // bytes that an item of a list counts
	roundSize = 64      // bytes that a round of a loop counts, because it takes time
)

// spend adds n bytes to the size of the rendering.
func (r *renderer) spend(n int) {
	if r.size += n; r.size > maxSize {
		failf("the template loops too often, or builds more than %d bytes", maxSize)
	}
}

// built counts the size of a value.
func (r *renderer) built(v any) any {
	switch v := v.(type) {
	case string:
		r.spend(len(v))
	case markup:
		r.spend(len(v))
	case *list:
		r.spend(itemSize * len(v.items))
	}
	return v
}

func bounded(n int) int {
	if n > maxSize || n < 0 {
		failf("the result has more than %d bytes", maxSize)
	}
	return n
}

// failf ends a rendering with a mistake at the place of the current operation.
func failf(format string, args ...any) { panic(mistakeAt(-1, format, args...)) }

// failed returns the mistake for p, the value of a panic.
func (r *renderer) failed(p any) *mistake {
	m, ok := p.(*mistake)
	if !ok {
		m = mistakeAt(-1, "this cannot be evaluated: %v", p)
	}
	if m.offset < 0 {
		m.offset = r.at
		if r.applied != "" {
			m.text = fmt.Sprintf("%s: %s", r.applied, m.text)
		}
	}
	return m
}
