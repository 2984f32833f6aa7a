package template

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
)

// Mapping is keys and values, in turn: a value of Go that a template sees as a new dict with
// that order. A key that occurs twice has the first place and the last value.
type Mapping []any

// fromGo returns a value of Go as a template sees it. Maps of Go have no order: their keys
// are sorted.
func fromGo(v any) any {
	switch v := v.(type) {
	case nil, bool, int, float64, string, *Dict, *list, *tuple, *undefined:
		return v
	case map[string]any:
		d := &Dict{keys: make([]any, 0, len(v)), values: make([]any, 0, len(v))}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			d.set(k, fromGo(v[k]))
		}
		return d
	case Mapping:
		return NewDict(v...)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n)
		}
		f, _ := v.Float64()
		return f
	}
	return reflected(v)
}

func reflected(v any) any {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Bool:
		return r.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return int(r.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if n := r.Uint(); n <= math.MaxInt64 {
			return int(n)
		}
		return float64(r.Uint())
	case reflect.Float32, reflect.Float64:
		return r.Float()
	case reflect.String:
		return r.String()
	case reflect.Slice, reflect.Array:
		l := &list{items: make([]any, r.Len())}
		for i := range l.items {
			l.items[i] = fromGo(r.Index(i).Interface())
		}
		return l
	case reflect.Map:
		m := map[string]any{}
		for _, k := range r.MapKeys() {
			m[fmt.Sprint(k.Interface())] = r.MapIndex(k).Interface()
		}
		return fromGo(m)
	case reflect.Pointer:
		if r.IsNil() {
			return nil
		}
		return fromGo(r.Elem().Interface())
	}
	return fmt.Sprint(v)
}

// kind names the type of a value in an error.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string, safe:
		return "text"
	case octets:
		return "bytes"
	case bool:
		return "true or false"
	case int, float64:
		return "a number"
	case *list:
		return "a list"
	case *tuple:
		return "a tuple"
	case *Dict:
		return "a dict"
	case *undefined:
		if !v.lax {
			v.use()
		}
		return "nothing"
	case *stream:
		return "a generator"
	case interval:
		return "a range"
	case *macro:
		return "a macro"
	case *loop:
		return "the loop"
	default:
		return "another value"
	}
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// asText is the text of a string, "" for other values.
func asText(v any) string {
	s, _ := stringOf(v)
	return s
}

func stringOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case safe:
		return string(v), true
	}
	return "", false
}
