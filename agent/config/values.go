package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// NotSet is the source of a value that is not set.
const NotSet = "default"

// Value is one value of a configuration with its source.
type Value struct {
	Path   string // section.key, or section.key.name for a member of a mapping
	Value  any    // with its secrets hidden; nil for a removed member
	Source string // default, built-in NAME, FILE:LINE, -c, a flag or a variable
	Unset  bool   // it is not set or empty: Empty says what that means
	Empty  string
	Hidden bool // a secret in it is hidden
}

// Text is the value as text: in one line, unless it is a text with several.
func (v Value) Text() string {
	switch x := v.Value.(type) {
	case nil:
		return ""
	case string:
		return x
	}
	data, err := json.Marshal(v.Value)
	if err != nil {
		return ""
	}
	return string(data)
}

// Values lists the configuration that takes effect: each key in the order of
// [Keys], and each name in a mapping.
func (c *Config) Values() []Value {
	var list []Value
	for _, k := range c.keys() {
		plain := k.field.plain()
		if k.path == "model.action_form" {
			plain = c.ActionForm().Kind.String()
		}
		if members, ok := plain.(map[string]any); ok && (len(members) > 0 || len(c.removed(k.path, members)) > 0) {
			list = append(list, c.members(k, members)...)
			continue
		}
		v := Value{Path: k.path, Value: hide(k.name(), plain), Source: c.sourceOf(k.path), Empty: k.empty}
		v.Unset = k.empty != "" && isEmpty(plain)
		v.Hidden = !reflect.DeepEqual(v.Value, plain)
		if form := c.Model.ActionForm; k.path == "model.action_form" && (form == "" || form == "auto") {
			v.Source += ", chosen by auto"
		}
		list = append(list, v)
	}
	return list
}

// members lists the members of a mapping and the removed members of the default.
func (c *Config) members(k key, members map[string]any) (list []Value) {
	hidden, _ := hide(k.name(), members).(map[string]any)
	names := append(slices.Collect(maps.Keys(members)), c.removed(k.path, members)...)
	slices.Sort(names)
	for _, name := range names {
		path := k.path + "." + name
		v := Value{Path: path, Value: hidden[name], Source: c.sourceOf(path)}
		_, there := members[name]
		if v.Unset = !there; v.Unset {
			v.Empty = "removed"
		}
		v.Hidden = !reflect.DeepEqual(hidden[name], members[name])
		list = append(list, v)
	}
	return list
}

// removed are the names that were set in a mapping and are not in it.
func (c *Config) removed(path string, members map[string]any) (names []string) {
	for at := range c.places {
		name, ok := strings.CutPrefix(at, path+".")
		if !ok {
			continue
		}
		if path == mcpServers {
			name, _, _ = strings.Cut(name, ".")
		}
		if _, there := members[name]; !there && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// sourceOf names the source of the value at a path. A member without a source of its own has
// the source of its mapping.
func (c *Config) sourceOf(path string) string {
	if at, ok := c.places[path]; ok {
		return at.who()
	}
	if parts := strings.SplitN(path, ".", 3); len(parts) == 3 {
		return c.sourceOf(parts[0] + "." + parts[1])
	}
	return NotSet
}

func isEmpty(v any) bool {
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Slice, reflect.Map:
		return rv.Len() == 0
	default:
		return rv.IsZero()
	}
}
