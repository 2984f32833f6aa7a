package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/internal/python"
)

// The values of an expression are nil, bool, int, float64, string and those below. They
// behave as Python's None, bool, int, float, str and so on. None of them changes.
type (
	markup string // the result of tojson, which Jinja2 would escape into other texts
	list   struct {
		items []any
		tuple bool
	}
	// view is the result of range, or of a dict's keys, values or items.
	view struct {
		of    string
		items []any
	}
)

// undefined is a value that does not exist. Using it is a mistake, unless it is lax.
type undefined struct {
	lax     bool // the value of a false condition without else
	mistake func() *mistake
}

// use fails unless u is lax.
func (u *undefined) use() {
	if !u.lax {
		panic(u.mistake())
	}
}

func truth(v any) bool {
	if _, f, _, ok := number(v); ok {
		return f != 0
	}
	n, ok := length(v)
	return v != nil && (!ok || n > 0)
}

// length returns Python's len(v); ok is false if v has no length.
func length(v any) (n int, ok bool) {
	if s, ok := textOf(v); ok {
		return utf8.RuneCountInString(s), true
	}
	items, ok := elements(v)
	return len(items), ok
}

// elements returns the items of a collection. The caller must not change them.
func elements(v any) (items []any, ok bool) {
	switch v := v.(type) {
	case *list:
		return v.items, true
	case *Dict:
		return v.keys, true
	case *view:
		return v.items, true
	case *undefined:
		v.use()
		return nil, true
	}
	return nil, false
}

// iterate returns the items of a collection or the letters of a text. It fails for other values. The caller
// must not change the items.
func iterate(v any) []any {
	items, ok := elements(v)
	s, isText := v.(string)
	if !ok && !isText {
		failf("%s has no items to go through", kind(v))
	}
	for _, r := range s {
		items = append(items, string(r))
	}
	return items
}

// kind names the type of a value in an error.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return "text"
	case markup:
		return "JSON"
	case bool:
		return "true or false"
	case int, float64:
		return "a number"
	case *list:
		return map[bool]string{true: "a tuple", false: "a list"}[v.tuple]
	case *Dict:
		return "a dict"
	case *view:
		return "the result of " + v.of
	case *undefined:
		v.use()
	}
	return "nothing"
}

// textOf returns v as a text, if it is text or JSON.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// like returns s with the type of v: plain text or JSON.
func like(v any, s string) any {
	if _, ok := v.(markup); ok {
		return markup(s)
	}
	return s
}

// dictAttributes are the attributes of Python's dict: if a Jinja2 template names one, it gets the attribute,
// not a member of the dict.
var dictAttributes = strings.Fields("clear copy fromkeys get items keys pop popitem setdefault update values")

func isDict(v any) bool {
	_, ok := v.(*Dict)
	return ok
}

// itemOf returns Jinja2's v[key] or, if attribute is set, v.key.
func itemOf(v, key any, attribute bool) (any, bool) {
	for _, v := range []any{v, key} {
		if u, ok := v.(*undefined); ok {
			panic(u.mistake())
		}
	}
	if d, ok := v.(*Dict); ok {
		name, _ := key.(string)
		isAttribute := slices.Contains(dictAttributes, name) || strings.HasPrefix(name, "__")
		if item, ok := d.get(key); ok && !(attribute && isAttribute) {
			return item, true
		}
		if isAttribute {
			failf("the attribute %q of Python's dicts is not supported", name)
		}
		return nil, false
	}
	if n, _, isFloat, ok := number(key); ok && !isFloat {
		return nth(v, n)
	}
	return nil, false
}

// nth returns an item of a list or a text; a negative n counts from the end.
func nth(v any, n int) (any, bool) {
	size, ok := length(v)
	if n < 0 {
		n += size
	}
	if !ok || n < 0 || n >= size {
		return nil, false
	}
	if l, ok := v.(*list); ok {
		return l.items[n], true
	}
	s, ok := textOf(v)
	if !ok {
		failf("%s has no items with numbers: add | list", kind(v))
	}
	return like(v, string([]rune(s)[n])), true
}

func sliced(v any, parts [3]any) any {
	var s python.Slice
	for i, part := range parts {
		if part != nil {
			n := wholeNumber(part)
			s[i] = &n
		}
	}
	if s[2] != nil && *s[2] == 0 {
		failf("the step of a slice must not be zero")
	}
	if l, ok := v.(*list); ok {
		out := &list{tuple: l.tuple}
		for _, i := range s.Indices(len(l.items)) {
			out.items = append(out.items, l.items[i])
		}
		return out
	}
	text, ok := textOf(v)
	if !ok {
		failf("%s has no slices", kind(v))
	}
	start, stop, step := s.Bounds(utf8.RuneCountInString(text))
	if step != 1 {
		runes := []rune(text)
		var out []rune
		for _, i := range s.Indices(len(runes)) {
			out = append(out, runes[i])
		}
		return like(v, string(out))
	}
	from, to, n := len(text), len(text), 0
	for i := range text {
		if n == start {
			from = i
		}
		if n == stop {
			to = i
			break
		}
		n++
	}
	return like(v, text[min(from, to):to])
}

// Dict is a Python dict, whose members have an order.
type Dict struct{ keys, values []any }

// NewDict returns a Dict; members are keys and values in turn.
func NewDict(members ...any) *Dict {
	d := &Dict{}
	for i := 0; i+1 < len(members); i += 2 {
		d.set(members[i], fromGo(members[i+1]))
	}
	return d
}

// hashed returns a key in a form that can be compared: 1, 1.0 and True are the same.
func hashed(key any) any {
	switch k := key.(type) {
	case nil, int, string:
	case bool:
		return asInt(k)
	case float64:
		if n := int(k); math.Abs(k) < 1<<63 && float64(n) == k {
			return n
		}
	default:
		failf("%s cannot be a key", kind(key))
	}
	return key
}

func (d *Dict) find(key any) int {
	h := hashed(key)
	return slices.IndexFunc(d.keys, func(k any) bool { return hashed(k) == h })
}

func (d *Dict) get(key any) (any, bool) {
	if i := d.find(key); i >= 0 {
		return d.values[i], true
	}
	return nil, false
}

func (d *Dict) set(key, value any) {
	if i := d.find(key); i >= 0 {
		d.values[i] = value
		return
	}
	d.keys, d.values = append(d.keys, key), append(d.values, value)
}

// Mapping is a Go value of keys and values in turn, which a template sees as a new dict in this order. A
// duplicate key has its first place and its last value.
type Mapping []any

// fromGo converts a Go value to a template's value. Go's maps have no order; their keys are sorted.
func fromGo(v any) any {
	switch v := v.(type) {
	case nil, *Dict, *list, *undefined:
		return v
	case Mapping:
		return NewDict(v...)
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
		n, err := v.Int64()
		if err != nil {
			failf(tooLarge)
		}
		return int(n)
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Bool:
		return r.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return int(r.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if r.Uint() > math.MaxInt64 {
			failf(tooLarge)
		}
		return int(r.Uint())
	case reflect.Float32, reflect.Float64:
		return notNaN(r.Float())
	case reflect.String:
		return r.String()
	case reflect.Slice, reflect.Array:
		l := &list{items: make([]any, r.Len())}
		for i := range l.items {
			l.items[i] = fromGo(r.Index(i).Interface())
		}
		return l
	case reflect.Map:
		members := map[string]any{}
		for _, k := range r.MapKeys() {
			members[fmt.Sprint(k.Interface())] = r.MapIndex(k).Interface()
		}
		d := &Dict{}
		for _, k := range slices.Sorted(maps.Keys(members)) {
			d.keys, d.values = append(d.keys, k), append(d.values, fromGo(members[k]))
		}
		return d
	case reflect.Pointer:
		if r.IsNil() {
			return nil
		}
		return fromGo(r.Elem().Interface())
	}
	return fmt.Sprint(v)
}
