package template

import (
	"slices"
	"unicode/utf8"
)

// The values of an expression are nil, bool, int, float64, string and those below. They
// behave as Python's None, bool, int, float, str and so on.
type (
	safe   string // a string that is not escaped again: Markup
	octets string // bytes
	list   struct{ items []any }
	tuple  struct {
		items []any
		names []string // of the items, if they have names
	}
	interval struct{ start, stop, step int } // range
	window   struct{ parts [3]any }          // slice
	// stream is a Python iterator: it can be read once.
	stream struct {
		of    string
		items []any
	}
	// view is the result of keys, values or items of a dict.
	view struct {
		of   *Dict
		what string
	}
	namespace struct{ members *Dict }
	cycler    struct {
		items []any
		at    int
	}
)

func (r interval) length() int {
	switch {
	case r.step > 0 && r.start < r.stop:
		return int((uint(r.stop-r.start)-1)/uint(r.step)) + 1
	case r.step < 0 && r.start > r.stop:
		return int((uint(r.start-r.stop)-1)/uint(-r.step)) + 1
	}
	return 0
}

func (s *stream) take() []any {
	items := s.items
	s.items = nil
	return items
}

// undefined is a value that does not exist. To use it is a mistake, unless it is lax.
type undefined struct {
	lax     bool // what a condition without else returns
	mistake func() *mistake
}

func (u *undefined) use() { panic(u.mistake()) }

// most bounds the bytes of a text or a list that a template builds.
const (
	most     = 1 << 26
	itemSize = 16 // of a list
)

func bounded(n int) int {
	if n > most || n < 0 {
		failf("the result has more than %d bytes", most)
	}
	return n
}

func boundedItems(n int) int { return bounded(min(n, most)*itemSize) / itemSize }

// failf ends a rendering with a mistake at the place of the current operation.
func failf(format string, args ...any) { panic(mistakeAt(-1, format, args...)) }

func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case *undefined:
		if !v.lax {
			v.use()
		}
		return false
	}
	n, ok := length(v)
	return !ok || n > 0
}

// length is Python's len; ok is false for what does not have one.
func length(v any) (n int, ok bool) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), true
	case safe:
		return utf8.RuneCountInString(string(v)), true
	case octets:
		return len(v), true
	case *list:
		return len(v.items), true
	case *tuple:
		return len(v.items), true
	case *Dict:
		return len(v.keys), true
	case *view:
		return len(v.of.keys), true
	case interval:
		return v.length(), true
	case *loop:
		return len(v.items), true
	case *undefined:
		if !v.lax {
			v.use()
		}
		return 0, true
	}
	return 0, false
}

// sequence returns the items of a list or a tuple.
func sequence(v any) ([]any, bool) {
	switch v := v.(type) {
	case *list:
		return v.items, true
	case *tuple:
		return v.items, true
	}
	return nil, false
}

// elements returns what Python's iter would return in turn; ok is false for what is not
// iterable.
func elements(v any) (items []any, ok bool) {
	if items, ok := sequence(v); ok {
		return items, true
	}
	switch v := v.(type) {
	case string:
		return characters(v), true
	case safe:
		return characters(string(v)), true
	case octets:
		for _, b := range []byte(v) {
			items = append(items, int(b))
		}
		return items, true
	case *Dict:
		return slices.Clone(v.keys), true
	case *view:
		return v.items(), true
	case *stream:
		return v.take(), true
	case interval:
		items = make([]any, boundedItems(v.length()))
		for i := range items {
			items[i] = v.start + i*v.step
		}
		return items, true
	case *undefined:
		if !v.lax {
			v.use()
		}
		return nil, true
	}
	return nil, false
}

func characters(s string) []any {
	items := make([]any, 0, utf8.RuneCountInString(s))
	for _, r := range s {
		items = append(items, string(r))
	}
	return items
}

// iterate is elements of what must be iterable.
func iterate(v any) []any {
	items, ok := elements(v)
	if !ok {
		failf("%s has no items to go through", kind(v))
	}
	return items
}
