package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/agent"
)

// field points to a value and says which values are right.
type field struct {
	// to points to a string, bool, int, float64, []string, map[string]string, map[string]any,
	// map[string]MCPServer or []Engine of a [Config].
	to       any
	allowed  []string       // the only texts, unless it is nil
	template bool           // the text is a Jinja template
	digits   bool           // the text may be given as a number
	check    func(reporter) // reports mistakes in a value of the right type; may be nil
}

// reporter reports a problem; it puts the place and the path of the key before the text.
type reporter func(format string, args ...any)

func jinja(to *string) field { return field{to: to, template: true} }

// word is one of some texts, or empty.
func word(to *string, allowed ...string) field {
	return field{to: to, allowed: allowed, check: func(say reporter) {
		if *to != "" && !slices.Contains(allowed, *to) {
			say("is %q, expected %s", *to, oneOf(allowed))
		}
	}}
}

// oneOf lists the expected words.
func oneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return words[last]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// limit is a number that is not negative.
func limit[N int | float64](to *N) field {
	return field{to: to, check: func(say reporter) {
		if *to < 0 {
			say("is negative, expected 0 (no limit) or more")
		}
	}}
}

// size is a number of bytes: 0, or at least the least that Docker accepts.
func size(to *string, example string, least int64) field {
	return field{to: to, digits: true, check: func(say reporter) {
		switch n, err := parseSize(*to); {
		case err != nil || n < 0:
			say("is %q, expected a size such as %s, or 0 for no limit", *to, example)
		case n > 0 && n < least:
			say("is %q, but Docker needs at least 6m for a container", *to)
		}
	}}
}

func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return parseBytes(text)
}

// patterns are regular expressions.
func patterns(to *[]string) field {
	return field{to: to, check: func(say reporter) {
		for _, p := range *to {
			if _, err := regexp.Compile(p); err != nil {
				say("has %q, which is not a regular expression: %v", p, err)
			}
		}
	}}
}

// withTools is a setting that needs an action form with tools.
func (c *Config) withTools(to *bool) field {
	return field{to: to, check: func(say reporter) {
		if *to && c.ActionForm().Kind == agent.Text {
			say("needs an action form with tools: in the form text, no reply calls one")
		}
	}}
}

// typeName is the type of the value, in a person's words.
func (f field) typeName() string {
	switch f.to.(type) {
	case *bool:
		return "true or false"
	case *int:
		return "whole number"
	case *float64:
		return "number"
	case *[]string, *[]Engine:
		return "list"
	case *string:
		if f.template {
			return "template"
		}
		return "text"
	default:
		return "names and values"
	}
}

// plain is a copy of the value with the types of JSON.
func (f field) plain() any {
	switch to := f.to.(type) {
	case *[]string:
		list := []any{}
		for _, s := range *to {
			list = append(list, s)
		}
		return list
	case *map[string]string:
		m := map[string]any{}
		for k, s := range *to {
			m[k] = s
		}
		return m
	case *map[string]MCPServer:
		return plainServers(*to)
	case *[]Engine:
		return plainEngines(*to)
	case *map[string]any:
		if *to == nil {
			return map[string]any{}
		}
		return *to
	default:
		return reflect.ValueOf(f.to).Elem().Interface()
	}
}
