package responses

import (
	"fmt"
	"maps"

	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
)

// same lists the members of a request that OpenAI's servers take and the run does not set, without the
// translated ones. They are from the SDK's ResponseNewParams.
var same = []string{
	"access_programs", "context_management", "include", "instructions", "max_output_tokens", "max_tool_calls", "metadata",
	"moderation", "parallel_tool_calls", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
	"safety_identifier", "service_tier", "store", "temperature", "top_logprobs", "top_p", "truncation", "user",
}

// rows translate keywords, mostly of chat completions.
var rows = []endpoint.Keyword{
	{Names: "background conversation previous_response_id", Take: stateless},
	{Names: "n", Take: endpoint.Ignore}, // always 1
	{Names: "max_tokens max_completion_tokens", Take: endpoint.As("max_output_tokens")},
	{Names: "reasoning", Take: object("reasoning")},
	{Names: "reasoning_effort", Take: effort},
	{Names: "text", Take: object("text")},
	{Names: "response_format", Take: flat("json_schema", "text", "format")},
	{Names: "verbosity", Take: endpoint.As("text", "verbosity")},
	{Names: "tool_choice", Take: flat("function", "tool_choice")},
}

// translate turns keywords of chat completions and LiteLLM into members of the Responses API. OpenAI's
// servers refuse any others; other servers receive all members.
func translate(members map[string]any, model string, openAI bool) (refused []string, err error) {
	refused, err = endpoint.Keywords{Rows: rows, Same: same, Open: !openAI}.Translate(members)
	if err != nil || !openAI {
		return nil, err
	}
	reasoning, _ := members["reasoning"].(map[string]any)
	asked, _ := reasoning["effort"].(string)
	return append(refused, openaiapi.Refused(model, asked, members)...), nil
}

// stateless accepts only false.
func stateless(_ map[string]any, value any) error {
	if value != false {
		return fmt.Errorf("the run sends the whole conversation and waits for each answer; remove it")
	}
	return nil
}

// object accepts an object, under the same name.
func object(name string) func(map[string]any, any) error {
	return func(members map[string]any, value any) error {
		if _, ok := value.(map[string]any); !ok {
			return fmt.Errorf("expected a mapping")
		}
		return endpoint.Fill(members, value, name)
	}
}

func effort(members map[string]any, value any) error {
	given, err := openaiapi.Effort(value)
	if err != nil {
		return err
	}
	if err := endpoint.Fill(members, map[string]any{}, "reasoning"); err != nil {
		return err
	}
	for name, value := range given {
		if err := endpoint.Fill(members, value, "reasoning", name); err != nil {
			return err
		}
	}
	return nil
}

// flat accepts {"type": t, t: {...}}, the form of chat completions, and puts the inner members next to the
// type.
func flat(t string, path ...string) func(map[string]any, any) error {
	return func(members map[string]any, value any) error {
		given, _ := value.(map[string]any)
		if inner, ok := given[t].(map[string]any); ok && given["type"] == t {
			out := map[string]any{"type": t}
			maps.Copy(out, inner)
			value = out
		}
		return endpoint.Fill(members, value, path...)
	}
}
