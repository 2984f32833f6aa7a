package config

import (
	"cmp"
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
		if path == mcpServers || path == programKey {
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

// Resolved is the configuration as it took effect, section by section, for
// manifests and trajectories: JSON-safe, secrets masked, owned by the caller.
func (c *Config) Resolved() map[string]any {
	all := map[string]any{}
	for _, k := range c.keys() {
		section, name, _ := strings.Cut(k.path, ".")
		if all[section] == nil {
			all[section] = map[string]any{}
		}
		plain := k.field.plain()
		if slices.Contains([]string{mcpServers, engineList, podSettings, programKey}, k.path) && isEmpty(plain) {
			continue // the same as in a directory that was begun without this key
		}
		all[section].(map[string]any)[name] = hide(name, plain)
	}
	all["model"].(map[string]any)["action_form"] = c.ActionForm().Kind.String()
	return all
}

// Vars are the values that templates may show. As in mini-swe-agent, all sections are in one
// map: agent, then environment, then model. Batch does not need executable, output_path and
// run_args: if they are not set, they are mini-swe-agent's defaults. The network is the one
// that containers get, from run_args or environment.network.
func (c *Config) Vars() map[string]any {
	vars, all := map[string]any{}, c.Resolved()
	for _, section := range []string{"agent", "environment", "model"} {
		for key, v := range all[section].(map[string]any) {
			vars[key] = cmp.Or(c.mappings[section+"."+key], &value{}).ordered(v)
		}
	}
	// A time-out reads as "60 seconds", not "60.0 seconds".
	for _, key := range []string{"timeout", "pull_timeout"} {
		if f, ok := vars[key].(float64); ok && f == float64(int(f)) {
			vars[key] = int(f)
		}
	}
	vars["executable"], vars["output_path"] = "docker", nil
	for _, s := range c.shown {
		vars[s.key] = s.text
	}
	if _, given := c.places["environment.run_args"]; !given {
		vars["run_args"] = []any{"--rm"} // mini-swe-agent's default; batch removes all containers
	}
	vars["network"] = cmp.Or(c.Environment.Flags().Network, "none")
	return vars
}

// prompts are the templates of all messages that a model gets from batch.
var prompts = []string{
	"agent.system_template", "agent.instance_template", "model.observation_template", "model.format_error_template",
}

// Prompts names the source of the prompts: "batch's built-in default", the name of a
// file, or several sources, each with the templates that it sets.
func (c *Config) Prompts() string {
	var sources []string
	templates := map[string][]string{}
	for _, path := range prompts {
		at := c.places[path]
		source := at.source
		if at.byHand() { // which may hold the whole prompt
			source = at.key()
		}
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
		_, name, _ := strings.Cut(path, ".")
		templates[source] = append(templates[source], name)
	}
	if len(sources) == 1 {
		return sources[0]
	}
	for i, source := range sources {
		sources[i] = source + " (" + strings.Join(templates[source], ", ") + ")"
	}
	return strings.Join(sources, ", ")
}
