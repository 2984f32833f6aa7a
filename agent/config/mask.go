package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"batch.example/batch/internal/mask"
)

// MaskSpec returns what was given to [Load], or a command line argument that
// holds it, with the secrets in a key=value hidden; all else stays as it is.
func MaskSpec(spec string) string {
	path, value, ok := strings.Cut(spec, "=")
	if !ok {
		return spec
	}
	key := path[strings.LastIndex(path, ".")+1:]
	var v any
	if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
		if err := json.Unmarshal([]byte(value), &v); err == nil {
			return path + "=" + maskJSON(key, v, value)
		}
	}
	if mask.KeyName(key) {
		return path + "=" + mask.Hidden
	}
	return path + "=" + MaskSpec(mask.URL(value))
}

// maskJSON writes v, which text stands for, anew only where something is hidden.
func maskJSON(key string, v any, text string) string {
	hidden := hide(key, v)
	if reflect.DeepEqual(hidden, v) {
		return text
	}
	data, err := json.Marshal(hidden)
	if err != nil {
		return mask.Hidden
	}
	return string(data)
}

// hide copies v with everything hidden that stands under a secret's name, and
// the passwords in addresses.
func hide(key string, v any) any {
	return mapTexts(key, v, func(name, text, before string) string {
		if mask.KeyName(name) {
			return before + mask.Hidden
		}
		return before + mask.URL(text)
	})
}

// Secrets returns the values in the configuration that are secret by the name
// under which they stand, and those in addresses.
func (c *Config) Secrets() []mask.Secret {
	var found []mask.Secret
	for _, section := range fieldsOf(c) {
		for key, field := range fieldsOf(section.Addr().Interface()) {
			mapTexts(key, copyOf(field), func(name, text, _ string) string {
				found = append(found, mask.Of(name, text)...)
				return ""
			})
		}
	}
	return found
}

// mapTexts copies v, which stands under key, with its texts changed: each is
// given with the name that it stands under and, in an argument like
// --env=NAME=VALUE, with what comes before the value.
func mapTexts(key string, v any, change func(name, text, before string) string) any {
	switch x := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, item := range x {
			m[k] = mapTexts(k, item, change)
		}
		return m
	case []any:
		list := slices.Clone(x)
		for i := range list {
			list[i] = mapTexts(key, list[i], change)
		}
		return list
	case string:
		if x == "" {
			return x
		}
		if name, before, ok := assignment(key, x); ok {
			return change(name, x[len(before):], before)
		}
		return change(key, x, "")
	}
	return v
}

// assignment splits an argument of docker run that sets a variable.
func assignment(key, arg string) (name, before string, ok bool) {
	if key != "run_args" {
		return "", "", false
	}
	name, _, ok = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "--env="), "-e="), "=")
	if !ok {
		return "", "", false
	}
	return name, arg[:strings.Index(arg, name)+len(name)+1], true
}
