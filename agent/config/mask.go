package config

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Masked stands where a secret was.
const Masked = "********"

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
	if secret(key) {
		return path + "=" + Masked
	}
	return path + "=" + MaskSpec(maskUser(value))
}

// maskJSON writes v, which text stands for, anew only where something is hidden.
func maskJSON(key string, v any, text string) string {
	hidden := mask(key, v)
	if reflect.DeepEqual(hidden, v) {
		return text
	}
	data, err := json.Marshal(hidden)
	if err != nil {
		return Masked
	}
	return string(data)
}

// mask copies v with everything hidden that stands under a secret's name, and
// the passwords in addresses.
func mask(key string, v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, item := range x {
			m[k] = mask(k, item)
		}
		return m
	case []any:
		list := slices.Clone(x)
		for i := range list {
			list[i] = mask(key, list[i])
		}
		return list
	case string:
		if x != "" && secret(key) {
			return Masked
		}
		if key == "run_args" {
			x = maskArgument(x)
		}
		return maskUser(x)
	}
	return v
}

// maskArgument hides the value of an assignment to a secret's name.
func maskArgument(arg string) string {
	name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "--env="), "-e="), "=")
	if !ok || !secret(name) {
		return arg
	}
	return arg[:strings.Index(arg, name)+len(name)+1] + Masked
}

var password = regexp.MustCompile(`(://[^/?#\s:@]*:)[^/?#\s]+@`)

// maskUser hides the password in an address.
func maskUser(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return password.ReplaceAllString(text, "${1}"+Masked+"@")
}

func secret(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	for _, part := range []string{"api_key", "apikey", "secret", "password", "authorization", "credential", "cookie"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return name == "token" || strings.HasSuffix(name, "_token") || strings.HasSuffix(name, "_key")
}
