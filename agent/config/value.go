package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"

	"batch.example/batch/agent/config/yamlpos"
	"batch.example/batch/agent/template"
)

// value is a part of a configuration with its place.
type value struct {
	v    any      // map[string]*value, []*value, string, int, float64, bool or nil
	keys []string // of a mapping, as they came; one may occur twice
	text string   // of a scalar, as written
	at   place
}

// Bounds of a file: aliases may go round in a circle, or multiply.
const (
	maxDepth = 100
	maxNodes = 100_000
)

// yamlReader turns the nodes of one file into values.
type yamlReader struct {
	file   string
	kind   placeKind
	source string
	nodes  int
}

func (r *yamlReader) at(line int) place { return place{source: r.file, line: line, kind: r.kind} }

func (r *yamlReader) read(n *yaml.Node, depth int) (*value, error) {
	v := &value{at: r.at(n.Line)}
	if r.nodes++; depth > maxDepth || r.nodes > maxNodes {
		return nil, fmt.Errorf("%s: the file is nested too deeply, or too large", v.at)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.read(n.Content[0], depth+1)
	case yaml.AliasNode:
		return r.read(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := []*value{}
		for _, item := range n.Content {
			e, err := r.read(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		v.v = list
	case yaml.MappingNode:
		if err := r.mapping(n, depth, v); err != nil {
			return nil, err
		}
	default:
		v.text = n.Value
		v.at.text = yamlpos.Of(r.source, n)
		return v, scalar(n, v)
	}
	return v, nil
}

// mapping reads a mapping. As in Python, the members that merge keys give come first.
func (r *yamlReader) mapping(n *yaml.Node, depth int, to *value) error {
	var keys []string
	own, merged := map[string]*value{}, map[string]*value{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, item := n.Content[i], n.Content[i+1]
		v, err := r.read(item, depth+1)
		if err != nil {
			return err
		}
		if key.Tag == "!!merge" {
			if !mergeInto(merged, v, &to.keys) {
				return fmt.Errorf("%s:%d: << needs a mapping or a list of them", r.file, key.Line)
			}
			continue
		}
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s:%d: a key must be a plain word", r.file, key.Line)
		}
		if _, twice := own[key.Value]; twice {
			return fmt.Errorf("%s:%d: the key %s is given twice", r.file, key.Line, key.Value)
		}
		v.at.line = key.Line
		own[key.Value], keys = v, append(keys, key.Value)
	}
	maps.Copy(merged, own)
	to.v, to.keys = merged, append(to.keys, keys...)
	return nil
}

// mergeInto adds the value of a merge key: a mapping, or a list of mappings, in which
// earlier ones win. It reports whether v is one of these.
func mergeInto(merged map[string]*value, v *value, keys *[]string) bool {
	list, ok := v.v.([]*value)
	if !ok {
		list = []*value{v}
	}
	for _, item := range slices.Backward(list) {
		base, ok := item.v.(map[string]*value)
		if !ok {
			return false
		}
		maps.Copy(merged, base)
		*keys = append(*keys, item.keys...)
	}
	return true
}

// scalar resolves a plain scalar as PyYAML does where that matters: yes, no,
// on and off are booleans when they stand without quotes.
func scalar(n *yaml.Node, v *value) error {
	if n.Tag == "!!str" && n.Style == 0 {
		switch strings.ToLower(n.Value) {
		case "yes", "on":
			v.v = true
			return nil
		case "no", "off":
			v.v = false
			return nil
		}
	}
	switch n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		if err := n.Decode(&v.v); err != nil {
			return fmt.Errorf("%s: the value is not of the type that its tag %s names", v.at, n.Tag)
		}
		v.v = jsonSafe(v.v, n.Value)
	default:
		v.v = n.Value
	}
	return nil
}

// jsonSafe keeps a number that JSON does not have as text.
func jsonSafe(v any, text string) any {
	switch n := v.(type) {
	case float64:
		if math.IsNaN(n) || math.IsInf(n, 0) {
			return text
		}
	case uint64:
		return float64(n)
	case int64:
		return float64(n)
	}
	return v
}

func fromJSON(v any, at place) *value {
	out := &value{at: at}
	switch v := v.(type) {
	case map[string]any:
		m := map[string]*value{}
		for k, item := range v {
			m[k] = fromJSON(item, at)
		}
		out.v = m
	case []any:
		list := []*value{}
		for _, item := range v {
			list = append(list, fromJSON(item, at))
		}
		out.v = list
	case json.Number:
		out.text = v.String()
		if i, err := v.Int64(); err == nil {
			out.v = int(i)
		} else {
			f, _ := v.Float64()
			out.v = f
		}
	default:
		out.v, out.text = v, fmt.Sprint(v)
	}
	return out
}

// isEmpty reports whether nothing is written there, as in a section of which each line is a comment. An
// explicit null is not empty.
func (v *value) isEmpty() bool { return v.v == nil && v.text == "" }

// keyDepth is how deep the keys of sections are. What is below are members, such as a variable.
const keyDepth = 2

// merge lays over on top of base: mappings key by key, all else replaces. An empty section, list or
// key changes nothing, but for a number: without one, a limit would be none.
func merge(base, over *value, depth int) *value {
	b, ok1 := base.v.(map[string]*value)
	o, ok2 := over.v.(map[string]*value)
	_, isNumber := number(base)
	_, isList := base.v.([]*value)
	if over.isEmpty() && (ok1 || isList || depth <= keyDepth && !isNumber) {
		return base
	}
	if !ok1 || !ok2 {
		return over
	}
	m := maps.Clone(b)
	for k, v := range o {
		if old, ok := m[k]; ok {
			v = merge(old, v, depth+1)
		}
		m[k] = v
	}
	return &value{v: m, keys: slices.Concat(base.keys, over.keys), at: over.at}
}

// sortAs gives the mappings in v the order that they have in a JSON text.
func (v *value) sortAs(text gjson.Result) {
	members, _ := v.v.(map[string]*value)
	list, _ := v.v.([]*value)
	text.ForEach(func(key, item gjson.Result) bool {
		if m := members[key.Str]; m != nil {
			v.keys = append(v.keys, key.Str)
			m.sortAs(item)
		} else if len(list) > 0 {
			list[0].sortAs(item)
			list = list[1:]
		}
		return true
	})
}

// ordered is a plain value for a template, with the mappings in it in the order that v has.
func (v *value) ordered(plain any) any {
	switch x := plain.(type) {
	case map[string]any:
		members, _ := v.v.(map[string]*value)
		var m template.Mapping
		shown := map[string]bool{}
		for _, key := range slices.Concat(v.keys, slices.Sorted(maps.Keys(x))) { // x may have others
			if item, ok := x[key]; ok && !shown[key] {
				shown[key] = true
				m = append(m, key, cmp.Or(members[key], &value{}).ordered(item))
			}
		}
		return m
	case []any:
		items, _ := v.v.([]*value)
		list := slices.Clone(x)
		for i := range min(len(list), len(items)) {
			list[i] = items[i].ordered(list[i])
		}
		return list
	}
	return plain
}

// plain is v without the places.
func (v *value) plain() any {
	switch x := v.v.(type) {
	case map[string]*value:
		m := map[string]any{}
		for k, item := range x {
			m[k] = item.plain()
		}
		return m
	case []*value:
		list := []any{}
		for _, item := range x {
			list = append(list, item.plain())
		}
		return list
	default:
		return v.v
	}
}
