package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"batch.example/batch/internal/mask"
)

// MaskSpec returns a spec of [Load], or a command line argument with one, with the secrets in
// a key=value hidden. Other text is not changed.
func MaskSpec(spec string) string {
	path, value, ok := strings.Cut(spec, "=")
	if !ok {
		return spec
	}
	keys := strings.Split(path, ".")
	var in within
	for _, outer := range keys[:len(keys)-1] {
		in = in.below(outer)
	}
	key := keys[len(keys)-1]
	var v any
	if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
		if err := json.Unmarshal([]byte(value), &v); err == nil {
			return path + "=" + maskJSON(key, v, value, in)
		}
	}
	if mask.KeyName(key) || in.login {
		return path + "=" + mask.Hidden
	}
	return path + "=" + MaskSpec(mask.URL(value))
}

// MaskSpecs is [MaskSpec] for each of a list.
func MaskSpecs(specs []string) []string {
	masked := make([]string, len(specs))
	for i, spec := range specs {
		masked[i] = MaskSpec(spec)
	}
	return masked
}

// maskJSON returns text, the JSON of v, unless something in v is hidden.
func maskJSON(key string, v any, text string, in within) string {
	hidden := hideIn(key, v, in)
	if reflect.DeepEqual(hidden, v) {
		return text
	}
	data, err := json.Marshal(hidden)
	if err != nil {
		return mask.Hidden
	}
	return string(data)
}

// hide returns a copy of v without the texts under a secret's name, the texts that are sent to
// an MCP server and the passwords in addresses.
func hide(key string, v any) any { return hideIn(key, v, within{}) }

func hideIn(key string, v any, in within) any {
	return mapUnder(key, v, in, func(t textAt) string {
		if (mask.KeyName(t.name) || t.login) && t.text != "" {
			return t.before + mask.Hidden
		}
		return t.before + mask.URL(t.text)
	})
}

// Secrets returns the secret values of the configuration: values under a secret's name,
// passwords in addresses, and values that look like keys and are handed on to containers and
// servers (see [mask.PassedOn]).
func (c *Config) Secrets() []mask.Secret {
	var found []mask.Secret
	for _, k := range c.keys() {
		mapUnder(k.name(), k.field.plain(), within{}, func(t textAt) string {
			if t.handedOn {
				found = append(found, mask.PassedOn(t.name, t.text)...)
			} else {
				found = append(found, mask.Of(t.name, t.text)...)
			}
			return ""
		})
	}
	return found
}

// textAt is a text of a configuration.
type textAt struct {
	name   string // that it stands under
	before string // in an argument like --env=NAME=VALUE, all up to the value
	text   string
	within
}

// within describes the mappings around a text.
type within struct {
	handedOn bool // to a container or a server
	servers  bool // of MCP servers
	login    bool // the variables or headers of an MCP server
}

// below returns the state for the members of the mapping at key.
func (w within) below(key string) within {
	w.handedOn = slices.Contains(handsOn, key)
	w.login = w.login || w.servers && w.handedOn
	w.servers = w.servers || key == "mcp_servers"
	return w
}

// handsOn are the keys of variables and headers: their members are handed on.
var handsOn = []string{"env", "extra_headers", "headers"}

// mapUnder copies v, which stands under key, with its texts changed.
func mapUnder(key string, v any, in within, change func(textAt) string) any {
	switch x := v.(type) {
	case map[string]any:
		in = in.below(key)
		m := map[string]any{}
		for k, item := range x {
			m[k] = mapUnder(k, item, in, change)
		}
		return m
	case []any:
		list := slices.Clone(x)
		for i := range list {
			list[i] = mapUnder(key, list[i], in, change)
		}
		return list
	case string:
		switch {
		case x == "" || isVariable(x):
			return x
		case key == "run_args":
			return change(argument(x))
		}
		return change(textAt{name: key, text: x, within: in})
	}
	return v
}

// isVariable reports whether a text is a template's variable alone, such as the key of a program's gateway: it is
// no secret, whatever its name.
func isVariable(text string) bool {
	inner, begins := strings.CutPrefix(text, "{{")
	inner, ends := strings.CutSuffix(inner, "}}")
	return begins && ends && !strings.ContainsAny(inner, `"'{}`)
}

// argument reads an argument of docker run. NAME=VALUE sets a variable, in the argument of a
// flag or after it.
func argument(arg string) textAt {
	value := arg
	switch {
	case strings.HasPrefix(arg, "--"):
		_, value, _ = strings.Cut(arg, "=")
	case strings.HasPrefix(arg, "-"):
		value = arg[min(len(arg), len("-x")):]
	}
	name, text, ok := strings.Cut(strings.TrimLeft(value, "="), "=")
	if !ok {
		return textAt{name: "run_args", text: arg}
	}
	return textAt{name: name, before: strings.TrimSuffix(arg, text), text: text, within: within{handedOn: true}}
}
