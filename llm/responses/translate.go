package responses

import (
	"fmt"
	"maps"

	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
)

// taken are the members of a request that OpenAI's servers take, besides those that the
// run sets: those of the SDK's ResponseNewParams.
var taken = []string{
	"access_programs", "context_management", "include", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
	"moderation", "parallel_tool_calls", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"reasoning", "safety_identifier", "service_tier", "store", "temperature", "text", "tool_choice", "top_logprobs", "top_p",
	"truncation", "user",
}

// translate turns members as chat completions and LiteLLM name them into those of the
// Responses API. OpenAI's servers take only those; other servers get all members.
func translate(members map[string]any, model string, openAI bool) (refused []string, err error) {
	for _, name := range []string{"background", "conversation", "previous_response_id"} {
		if value := members[name]; value != nil && value != false {
			return nil, fmt.Errorf("%s: the run sends the whole conversation and waits for each answer; remove it", name)
		}
		delete(members, name)
	}
	maps.DeleteFunc(members, func(name string, value any) bool {
		return value == nil || name == "n" // which is 1
	})
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		move(members, name, members, "max_output_tokens")
	}
	effort, err := openaiapi.Effort(members["reasoning_effort"])
	if err != nil {
		return nil, err
	}
	delete(members, "reasoning_effort")
	reasoning, err := object(members, "reasoning", effort != nil)
	if err != nil {
		return nil, err
	}
	for name, value := range effort {
		if _, set := reasoning[name]; !set {
			reasoning[name] = value
		}
	}
	if err := translateText(members); err != nil {
		return nil, err
	}
	if choice, ok := members["tool_choice"].(map[string]any); ok {
		members["tool_choice"] = flat(choice, "function")
	}
	if !openAI {
		return nil, nil
	}
	asked, _ := reasoning["effort"].(string)
	return append(endpoint.Others(members, taken), openaiapi.Refused(model, asked, members)...), nil
}

// translateText moves what a request says of the answer's form into text.
func translateText(members map[string]any) error {
	_, verbose := members["verbosity"]
	_, formed := members["response_format"]
	text, err := object(members, "text", verbose || formed)
	if err != nil {
		return err
	}
	if format, ok := members["response_format"].(map[string]any); ok {
		members["response_format"] = flat(format, "json_schema")
	}
	move(members, "response_format", text, "format")
	move(members, "verbosity", text, "verbosity")
	return nil
}

// object returns a copy of the member that is an object, which takes its place; an empty
// one if there is none and it is needed.
func object(members map[string]any, name string, needed bool) (map[string]any, error) {
	own := map[string]any{}
	switch value := members[name].(type) {
	case nil:
		if !needed {
			return nil, nil
		}
	case map[string]any:
		maps.Copy(own, value)
	default:
		return nil, fmt.Errorf("%s: expected a mapping", name)
	}
	members[name] = own
	return own, nil
}

// move renames a member, unless the new one is there.
func move(from map[string]any, name string, to map[string]any, as string) {
	value, ok := from[name]
	if !ok {
		return
	}
	delete(from, name)
	if _, set := to[as]; !set && value != nil {
		to[as] = value
	}
}

// flat returns {"type": t, t: {...}}, as chat completions have it, with the inner members
// beside the type.
func flat(value map[string]any, t string) map[string]any {
	inner, ok := value[t].(map[string]any)
	if !ok || value["type"] != t {
		return value
	}
	out := map[string]any{"type": t}
	maps.Copy(out, inner)
	return out
}
