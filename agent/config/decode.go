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
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/removed"
)

// decoder sets the fields of keys and collects what is wrong.
type decoder struct {
	places   map[string]place
	mappings map[string]*value
	found    []found
	problems []string
	unknown  bool // found has an unknown key
}

// found is a problem with its place.
type found struct {
	at   place
	text string
}

// refuse returns all problems as one error.
func (d *decoder) refuse() error {
	slices.SortStableFunc(d.found, func(a, b found) int { return a.at.compare(b.at) })
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

// section sets the fields of keys from the mapping at path.
func (d *decoder) section(path string, v *value, keys []key) {
	if v.v == nil {
		return
	}
	m, ok := v.v.(map[string]*value)
	if !ok {
		d.problem(v, path, "is %s, expected keys and values", kindOf(v))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		at := strings.TrimPrefix(path+"."+name, ".")
		i := slices.IndexFunc(keys, func(k key) bool { return k.path == at || strings.HasPrefix(k.path, at+".") })
		if i < 0 || strings.Contains(name, ".") {
			d.unknownKey(at, m[name])
			continue
		}
		d.places[at] = m[name].at
		if keys[i].path == at {
			d.set(at, m[name], keys[i].field)
		} else {
			d.section(at, m[name], keys)
		}
	}
}

// set sets a field from the value at path; null is the zero value.
func (d *decoder) set(path string, v *value, f field) {
	if kind := reflect.TypeOf(f.to).Elem().Kind(); v.isEmpty() && (kind == reflect.Int || kind == reflect.Float64 || f.digits) {
		d.problem(v, path, "is empty, expected a number")
		return
	}
	if v.v == nil {
		reflect.ValueOf(f.to).Elem().SetZero()
		return
	}
	members, _ := v.v.(map[string]*value)
	for name, item := range members {
		d.places[path+"."+name] = item.at
	}
	d.mappings[path] = v
	ok, expected := true, ""
	switch to := f.to.(type) {
	case *string:
		expected = "text"
		*to, ok = f.text(v)
	case *bool:
		expected = "true or false"
		*to, ok = v.v.(bool)
	case *int:
		expected = "a whole number"
		*to, ok = whole(v)
	case *float64:
		expected = "a number"
		*to, ok = finite(v)
	case *map[string]any:
		expected = "keys and values"
		*to, ok = v.plain().(map[string]any)
	case *[]string:
		d.list(path, v, to)
	case *map[string]string:
		d.texts(path, v, to)
	case *map[string]MCPServer:
		d.servers(path, v, to)
	case *[]Engine:
		d.engines(path, v, to)
	case *ProgramConfig:
		d.section(path, v, to.keys(path))
	}
	if !ok {
		d.problem(v, path, "is %s, expected %s", kindOf(v), expected)
	}
}

// text is a string. Where a number is natural, its digits are one too.
func (f field) text(v *value) (string, bool) {
	if _, isNumber := number(v); isNumber && f.digits {
		return v.text, true
	}
	s, ok := v.v.(string)
	return s, ok
}

func whole(v *value) (int, bool) {
	f, ok := number(v)
	return int(f), ok && f == math.Trunc(f) && math.Abs(f) <= 1<<53
}

func finite(v *value) (float64, bool) {
	f, ok := number(v)
	return f, ok && !math.IsNaN(f) && !math.IsInf(f, 0)
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

// unknownKey reports an unknown key, with the known one that was probably meant.
func (d *decoder) unknownKey(path string, v *value) {
	d.unknown = true
	if m, ok := v.v.(map[string]*value); ok && len(m) == 1 && !strings.Contains(path, ".") { // agnet.step_limit=5
		for key, item := range m {
			path, v = path+"."+key, item
		}
	}
	if instead := removed.Instead(path); instead != "" {
		d.problem(v, path, "was removed: %s", instead)
		return
	}
	meant := near.Hint(nearest(path), "")
	if meant != "" {
		meant = "; " + meant
	}
	d.problem(v, path, "is not a known key%s", meant)
}

// nearest returns the known key that was probably meant by path: a key of the same name in
// another section, or one with a similar name.
func nearest(path string) string {
	dot := strings.LastIndexByte(path, '.')
	name, keys := path[dot+1:], new(Config).keys()
	inServer := strings.HasPrefix(path, mcpServers+".")
	inEngine := strings.HasPrefix(path, engineList+".")
	inProgram := strings.HasPrefix(path, programKey+".")
	switch {
	case inServer:
		keys = new(MCPServer).keys(path[:dot])
	case inEngine:
		keys = new(Engine).keys(path[:dot])
	case inProgram:
		keys = new(ProgramConfig).keys(path[:dot])
	}
	byName, byPath, sections := map[string]string{}, map[string]string{}, map[string]string{}
	for _, k := range keys {
		section, _, _ := strings.Cut(k.path, ".")
		byName[k.name()], byPath[k.path], sections[section] = k.path, k.path, section
	}
	among := func(known map[string]string, meant string) string {
		return known[near.Name(meant, slices.Collect(maps.Keys(known)))]
	}
	section, _, inSection := strings.Cut(path, ".")
	switch {
	case byName[name] != "":
		return byName[name]
	case inServer, inEngine, inProgram:
		return among(byName, name)
	case !inSection:
		return cmp.Or(among(sections, path), among(byName, path))
	}
	same := maps.Clone(byPath)
	maps.DeleteFunc(same, func(p, _ string) bool { return !strings.HasPrefix(p, section+".") })
	return cmp.Or(among(same, path), among(byPath, path), among(byName, name))
}
