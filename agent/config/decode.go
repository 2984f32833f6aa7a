package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/fault"
)

// decoder fills structs by their yaml tags and collects what is wrong.
type decoder struct {
	places   map[string]place
	mappings map[string]*value
	found    []found
	problems []string
	unknown  bool // a key of them is not known
}

// found is a problem and its place.
type found struct {
	at   place
	text string
}

// refuse returns all problems as one error.
func (d *decoder) refuse() error {
	slices.SortStableFunc(d.found, func(a, b found) int {
		return cmp.Or(strings.Compare(a.at.source, b.at.source), a.at.line-b.at.line)
	})
	for _, f := range d.found {
		d.problems = append(d.problems, f.text)
	}
	var err *fault.Error
	switch n := len(d.problems); n {
	case 0:
		return nil
	case 1:
		err = fault.Newf(fault.Usage, "reading the configuration: %s", d.problems[0])
	default:
		err = fault.Newf(fault.Usage, "reading the configuration: %d values are wrong:\n%s", n, strings.Join(d.problems, "\n"))
	}
	if d.unknown {
		return err.WithHint("`batch config keys` lists all keys")
	}
	return err
}

func (d *decoder) problem(v *value, path, format string, args ...any) {
	d.found = append(d.found, found{v.at, fmt.Sprintf("%s: %s %s", v.at, path, fmt.Sprintf(format, args...))})
}

// section fills the struct that target points to from a mapping.
func (d *decoder) section(path string, v *value, target any) {
	if v.v == nil {
		return
	}
	m, ok := v.v.(map[string]*value)
	if !ok {
		d.problem(v, path, "is %s, expected keys and values", kindOf(v))
		return
	}
	fields := fieldsOf(target)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		full := strings.TrimPrefix(path+"."+key, ".")
		field, ok := fields[key]
		if !ok {
			d.unknownKey(full, m[key])
			continue
		}
		d.places[full] = m[key].at
		if field.Kind() == reflect.Struct {
			d.section(full, m[key], field.Addr().Interface())
			continue
		}
		if field.Kind() == reflect.Map {
			d.mappings[full] = m[key]
		}
		d.leaf(full, m[key], field)
	}
}

// fieldsOf maps yaml keys to the settable fields of the struct target points to.
func fieldsOf(target any) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	v := reflect.ValueOf(target).Elem()
	for i := range v.NumField() {
		if key := v.Type().Field(i).Tag.Get("yaml"); key != "" {
			fields[key] = v.Field(i)
		}
	}
	return fields
}

// field is the value at the path of a described key: section.key.
func (c *Config) field(path string) reflect.Value {
	section, key, _ := strings.Cut(path, ".")
	return fieldsOf(fieldsOf(c)[section].Addr().Interface())[key]
}

func (d *decoder) leaf(path string, v *value, field reflect.Value) {
	if v.v == nil {
		field.SetZero()
		return
	}
	switch to := field.Addr().Interface().(type) {
	case *string:
		d.text(path, v, to)
	case *bool:
		b, ok := v.v.(bool)
		if !ok {
			d.problem(v, path, "is %s, expected true or false", kindOf(v))
			return
		}
		*to = b
	case *int:
		f, ok := number(v)
		if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			d.problem(v, path, "is %s, expected a whole number", kindOf(v))
			return
		}
		*to = int(f)
	case *float64:
		f, ok := number(v)
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			d.problem(v, path, "is %s, expected a number", kindOf(v))
			return
		}
		*to = f
	case *[]string:
		d.list(path, v, to)
	case *map[string]string:
		d.texts(path, v, to)
	case *map[string]MCPServer:
		d.servers(path, v, to)
	case *map[string]any:
		m, ok := v.plain().(map[string]any)
		if !ok {
			d.problem(v, path, "is %s, expected keys and values", kindOf(v))
			return
		}
		*to = m
		members, _ := v.v.(map[string]*value)
		for key, item := range members {
			d.places[path+"."+key] = item.at
		}
	}
}

// text takes a string. Where a number is natural, its digits are taken too.
func (d *decoder) text(path string, v *value, to *string) {
	s, ok := v.v.(string)
	if _, isNumber := number(v); isNumber && (path == "environment.container_timeout" || path == "environment.memory" || path == "environment.disk") {
		s, ok = v.text, true
	}
	if !ok {
		d.problem(v, path, "is %s, expected text", kindOf(v))
		return
	}
	*to = s
}

func (d *decoder) list(path string, v *value, to *[]string) {
	items, ok := v.v.([]*value)
	if !ok {
		d.problem(v, path, "is %s, expected a list", kindOf(v))
		return
	}
	list := []string{}
	for _, item := range items {
		if !isScalar(item) {
			d.problem(item, path, "holds %s, expected text", kindOf(item))
			continue
		}
		list = append(list, item.text)
	}
	*to = list
}

// texts takes names and values; a number or a word like off is text here, as
// written, and null leaves the name out.
func (d *decoder) texts(path string, v *value, to *map[string]string) {
	m, ok := v.v.(map[string]*value)
	if !ok {
		d.problem(v, path, "is %s, expected names and values", kindOf(v))
		return
	}
	texts := map[string]string{}
	for key, item := range m {
		d.places[path+"."+key] = item.at
		switch {
		case item.v == nil:
		case isScalar(item):
			texts[key] = item.text
		default:
			d.problem(item, path+"."+key, "is %s, expected text", kindOf(item))
		}
	}
	*to = texts
}

func isScalar(v *value) bool {
	switch v.v.(type) {
	case string, bool, int, float64:
		return true
	default:
		return false
	}
}

func number(v *value) (float64, bool) {
	switch n := v.v.(type) {
	case int:
		return float64(n), true
	case float64:
		return n, true
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
		return f, err == nil
	default:
		return 0, false
	}
}

func kindOf(v *value) string {
	switch x := v.v.(type) {
	case map[string]*value:
		return "a mapping"
	case []*value:
		return "a list"
	case string:
		return strconv.Quote(shorten(MaskSpec(x)))
	case nil:
		return "empty"
	default:
		return fmt.Sprint(x)
	}
}

func shorten(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}
