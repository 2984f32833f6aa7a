package config

import (
	"maps"
	"strings"
)

// object is a part of a JSON Schema.
type object = map[string]any

// Schema returns the JSON Schema of a configuration file, for editors and other programs. It has every
// key with its type, default and description, and refuses other keys. Batch checks more: what the
// values say.
func Schema() map[string]any {
	known := properties(initial().keys())
	section := func(name string) object { return known[name].(object)["properties"].(object) }
	for _, path := range unused {
		in, name, _ := strings.Cut(path, ".")
		section(in)[name] = object{"deprecated": true, "description": "Accepted for mini-swe-agent's files, without effect."}
	}
	for old, now := range moved {
		s := maps.Clone(section("model")[now].(object))
		s["deprecated"], s["description"] = true, "The older name of model."+now+"."
		section("agent")[old] = s
	}
	s := mapping(known)
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "Configuration of batch"
	return s
}

// properties returns the schemas of keys by name, below their section if they have one.
func properties(keys []key) object {
	all := object{}
	for _, k := range keys {
		in := all
		if section, _, _ := strings.Cut(k.path, "."); section != "" {
			if all[section] == nil {
				all[section] = mapping(object{})
			}
			in = all[section].(object)["properties"].(object)
		}
		in[k.name()] = k.schema()
	}
	return all
}

// mapping is the schema of a mapping with these keys alone.
func mapping(keys object) object {
	return object{"type": []string{"object", "null"}, "properties": keys, "additionalProperties": false}
}

func (k key) schema() object {
	s := k.field.schema()
	if k.doc != "" {
		s["description"] = k.doc
	}
	if plain := k.field.plain(); !isEmpty(plain) {
		s["default"] = plain
	} else if k.empty != "" {
		s["description"] = k.doc + " Default: " + k.empty + "."
	}
	return s
}

// schema is the schema of a value that the decoder accepts. Null changes nothing, but for a number.
func (f field) schema() object {
	scalars := []string{"string", "number", "boolean"}
	names := func(of any) object {
		return object{"type": []string{"object", "null"}, "additionalProperties": of}
	}
	switch f.to.(type) {
	case *bool:
		return object{"type": []string{"boolean", "null"}}
	case *int:
		return object{"type": "integer", "minimum": 0}
	case *float64:
		return object{"type": "number", "minimum": 0}
	case *string:
		switch {
		case f.allowed != nil:
			return object{"anyOf": []any{object{"enum": f.allowed}, object{"type": "null"}}}
		case f.digits:
			return object{"type": []string{"string", "number"}}
		}
		return object{"type": []string{"string", "null"}}
	case *[]string:
		return object{"type": []string{"array", "null"}, "items": object{"type": scalars}}
	case *[]Engine:
		one := mapping(properties(new(Engine).keys("")))
		return object{"type": []string{"array", "null"}, "items": object{"anyOf": []any{object{"type": "string"}, one}}}
	case *map[string]string:
		return names(object{"type": append(scalars, "null")})
	case *ProgramConfig:
		return mapping(properties(f.to.(*ProgramConfig).keys("")))
	case *map[string]MCPServer:
		return names(mapping(properties(new(MCPServer).keys(""))))
	default:
		return names(true)
	}
}
