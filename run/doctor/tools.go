package doctor

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"batch.example/batch/llm"
)

// tool is a tool that a request offers, in any of the protocols.
type tool struct {
	name   string
	schema gjson.Result // of its arguments
}

// offers returns the tools of a request that have a name.
func offers(body []byte) (list []tool) {
	var add func(gjson.Result)
	add = func(t gjson.Result) {
		if inner := t.Get("function"); inner.Exists() {
			t = inner
		}
		for _, several := range []string{"functionDeclarations", "function_declarations"} {
			t.Get(several).ForEach(func(_, one gjson.Result) bool {
				add(one)
				return true
			})
		}
		if t.Get("name").Exists() {
			schema := t.Get("input_schema")
			for _, member := range []string{"parameters", "parametersJsonSchema"} {
				if !schema.Exists() {
					schema = t.Get(member)
				}
			}
			list = append(list, tool{t.Get("name").Str, schema})
		}
	}
	gjson.GetBytes(body, "tools").ForEach(func(_, t gjson.Result) bool {
		add(t)
		return true
	})
	return list
}

// commandOf returns a call that runs a command of a shell, with the first tool that needs one; nil if none does.
func commandOf(tools []tool, command string) *llm.ToolCall {
	for _, t := range tools {
		for _, name := range []string{"command", "cmd"} {
			needed := needs(t.schema)
			if !slices.Contains(needed, name) {
				continue
			}
			args := map[string]any{}
			for _, other := range needed {
				args[other] = anyOf(t.schema.Get("properties." + gjson.Escape(other)))
			}
			args[name] = command
			if isType(t.schema.Get("properties."+name), "array") {
				args[name] = []string{"bash", "-c", command}
			}
			text, err := json.Marshal(args)
			if err != nil {
				return nil
			}
			return &llm.ToolCall{Name: t.name, Arguments: string(text)}
		}
	}
	return nil
}

// needs returns the arguments that a call must have: all, if the schema does not say.
func needs(schema gjson.Result) (names []string) {
	list := schema.Get("required")
	if !list.Exists() {
		list = schema.Get("properties.@keys")
	}
	for _, name := range list.Array() {
		names = append(names, name.Str)
	}
	return names
}

// isType reports whether a schema is of a type. Gemini writes types in capitals.
func isType(schema gjson.Result, name string) bool {
	for _, kind := range append(schema.Get("type").Array(), schema.Get("type")) {
		if kind.Type == gjson.String && strings.ToLower(kind.Str) == name {
			return true
		}
	}
	return false
}

// anyOf returns a value of a schema.
func anyOf(schema gjson.Result) any {
	switch {
	case len(schema.Get("enum").Array()) > 0:
		return schema.Get("enum.0").Value()
	case isType(schema, "boolean"):
		return false
	case isType(schema, "integer"), isType(schema, "number"):
		return 1
	case isType(schema, "array"):
		return []any{}
	case isType(schema, "object"):
		return map[string]any{}
	}
	return "a check of batch doctor"
}
