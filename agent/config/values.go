package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// NotSet is the source of a value that nobody set.
const NotSet = "default"

// Value is one value of a configuration, and who set it.
type Value struct {
	Path   string // section.key, or section.key.name of what stands in a mapping
	Value  any    // with its secrets hidden; nil of a name that was removed
	Source string // default, built-in NAME, FILE:LINE, -c, a flag or a variable
	Unset  bool   // nobody set it, or it is empty: Empty says what that means
	Empty  string
	Hidden bool // a secret in it is hidden
}

// Text is the value in one line, unless it is a text of several.
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
	for _, d := range describedKeys {
		_, key, _ := strings.Cut(d.path, ".")
		plain := copyOf(c.field(d.path))
		if d.path == "model.action_form" {
			plain = c.ActionForm().Kind.String()
		}
		if members, ok := plain.(map[string]any); ok && (len(members) > 0 || len(c.removed(d.path, members)) > 0) {
			list = append(list, c.members(d.path, key, members)...)
			continue
		}
		v := c.valueAt(d, key, plain)
		if form := c.Model.ActionForm; d.path == "model.action_form" && (form == "" || form == "auto") {
			v.Source += ", chosen by auto"
		}
		list = append(list, v)
	}
	return list
}

func (c *Config) valueAt(d describedKey, key string, plain any) Value {
	v := Value{Path: d.path, Value: hide(key, plain), Source: c.sourceOf(d.path), Empty: d.empty}
	v.Unset = d.empty != "" && isEmpty(plain)
	v.Hidden = !reflect.DeepEqual(v.Value, plain)
	return v
}

// members lists what stands in a mapping, and what of the default was removed.
func (c *Config) members(path, key string, members map[string]any) (list []Value) {
	hidden, _ := hide(key, members).(map[string]any)
	names := append(slices.Collect(maps.Keys(members)), c.removed(path, members)...)
	slices.Sort(names)
	for _, name := range names {
		v := Value{Path: path + "." + name, Value: hidden[name], Source: c.sourceOf(path + "." + name)}
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
		if mapping, ok := memberOf(at); ok && mapping == path {
			name := at[len(path)+1:]
			if path == mcpServers {
				name, _, _ = strings.Cut(name, ".")
			}
			if _, there := members[name]; !there && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// memberOf returns the key of the mapping in which a path's value stands, where
// it stands in one.
func memberOf(path string) (mapping string, ok bool) {
	for _, key := range []string{"environment.env", "model.model_kwargs", mcpServers} {
		if strings.HasPrefix(path, key+".") {
			return key, true
		}
	}
	return "", false
}

// sourceOf names who set the value at a path. What stands in a mapping may have
// been set with all of it.
func (c *Config) sourceOf(path string) string {
	at, ok := c.places[path]
	if !ok {
		if mapping, ok := memberOf(path); ok {
			return c.sourceOf(mapping)
		}
		return NotSet
	}
	return at.who()
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
