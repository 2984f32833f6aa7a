package openai

import (
	"fmt"
	"slices"

	"batch.example/batch/llm/internal/openaiapi"
)

// taken lists the members of a request that OpenAI's servers take and the run does not set. They are from the
// SDK's ChatCompletionNewParams.
var taken = []string{
	"audio", "frequency_penalty", "function_call", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata", "modalities",
	"moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options",
	"prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store",
	"temperature", "tool_choice", "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
}

// translate adapts members to a model of OpenAI. OpenAI's servers refuse unknown members; other servers
// receive all. A model that reasons has another member for the length of its answer, and does not take some
// members (according to LiteLLM).
func translate(members map[string]any, model string, openAI bool) (refused []string, err error) {
	if value, ok := members["max_tokens"]; ok && openaiapi.Reasons(model) {
		delete(members, "max_tokens")
		if _, set := members["max_completion_tokens"]; !set {
			members["max_completion_tokens"] = value
		}
	}
	if !openAI {
		return nil, nil
	}
	effort, err := openaiapi.Effort(members["reasoning_effort"])
	if err != nil {
		return nil, fmt.Errorf("reasoning_effort: %w", err)
	}
	asked, _ := effort["effort"].(string)
	if _, isWord := members["reasoning_effort"].(string); !isWord && asked != "" {
		members["reasoning_effort"] = asked // chat completions accept only the word
	}
	refused = openaiapi.Refused(model, asked, members)
	for name := range members {
		if !slices.Contains(taken, name) {
			refused = append(refused, name)
		}
	}
	return refused, nil
}
