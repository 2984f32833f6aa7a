package gemini

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm/endpoint"
)

// keywords says how the protocol takes model_kwargs. A thinking effort stays an [effort] until the model is
// known.
var keywords = endpoint.Keywords{Rows: []endpoint.Keyword{
	{Names: "temperature", Take: generation("temperature")},
	{Names: "top_p", Take: generation("topP")},
	{Names: "top_k", Take: generation("topK")},
	{Names: "seed", Take: generation("seed")},
	{Names: "max_tokens max_output_tokens max_completion_tokens", Take: generation("maxOutputTokens")},
	{Names: "presence_penalty", Take: generation("presencePenalty")},
	{Names: "frequency_penalty", Take: generation("frequencyPenalty")},
	{Names: "logprobs", Take: generation("responseLogprobs")},
	{Names: "top_logprobs", Take: generation("logprobs")},
	{Names: "media_resolution", Take: generation("mediaResolution")},
	{Names: "stop_sequences stop", Take: stops},
	{Names: "response_format", Take: responseFormat},
	{Names: "thinking_config thinkingConfig", Take: generation("thinkingConfig")},
	{Names: "thinking", Take: thinking},
	{Names: "reasoning_effort", Take: reasoningEffort},
	{Names: "generationConfig generation_config", Take: generationConfig},
	{Names: "tool_config", Take: endpoint.As("toolConfig")},
	{Names: "tool_choice", Take: toolChoice},
	{Names: "toolConfig", Take: endpoint.As("toolConfig")},
	{Names: "n", Take: endpoint.Ignore}, // always 1
	{Names: "parallel_tool_calls", Take: parallelCalls},
	{Names: "safety_settings safetySettings", Take: endpoint.As("safetySettings")},
	{Names: "cached_content cachedContent", Take: endpoint.As("cachedContent")},
	{Names: "service_tier serviceTier", Take: endpoint.As("serviceTier")},
	{Names: "labels", Take: endpoint.As("labels")},
}}

// generation returns the Take of a member of generationConfig.
func generation(name string) func(map[string]any, any) error {
	return endpoint.As("generationConfig", name)
}

// generationConfig adds the members that no other keyword has set.
func generationConfig(members map[string]any, value any) error {
	own, ok := value.(map[string]any)
	if !ok {
		return endpoint.Refuse(members, value)
	}
	for name, value := range own {
		if err := generation(name)(members, value); err != nil {
			return err
		}
	}
	return nil
}

// parallelCalls accepts only true, because an answer can always have several calls.
func parallelCalls(members map[string]any, value any) error {
	if value == true {
		return nil
	}
	return endpoint.Refuse(members, value)
}

func stops(members map[string]any, value any) error {
	switch text := value.(type) {
	case string:
		value = []string{text}
	case []any, []string:
	default:
		return fmt.Errorf("expected a text or a list of them")
	}
	return generation("stopSequences")(members, value)
}

func responseFormat(members map[string]any, value any) error {
	format, _ := value.(map[string]any)
	named, _ := format["json_schema"].(map[string]any)
	switch format["type"] {
	case "text":
		return nil
	case "json_object":
		return generation("responseMimeType")(members, "application/json")
	case "json_schema":
		err := cmp.Or(generation("responseMimeType")(members, "application/json"), generation("responseJsonSchema")(members, named["schema"]))
		if err != nil || named["schema"] != nil {
			return err
		}
	}
	return endpoint.Refuse(members, value)
}

func toolChoice(members map[string]any, value any) error {
	calling := map[string]any{}
	switch v := value.(type) {
	case string:
		if mode := map[string]string{"auto": "AUTO", "none": "NONE", "required": "ANY", "any": "ANY"}[v]; mode != "" {
			calling["mode"] = mode
		}
	case map[string]any:
		function, _ := v["function"].(map[string]any)
		if name, ok := function["name"].(string); ok {
			calling["mode"], calling["allowedFunctionNames"] = "ANY", []string{name}
		}
	}
	if len(calling) == 0 {
		return fmt.Errorf("expected auto, required, none or the name of a function")
	}
	return endpoint.Fill(members, map[string]any{"functionCallingConfig": calling}, "toolConfig")
}

// thinking takes Anthropic's member of this name.
func thinking(members map[string]any, value any) error {
	v, _ := value.(map[string]any)
	config := map[string]any{"includeThoughts": true}
	switch v["type"] {
	case "enabled":
		if budget, ok := v["budget_tokens"]; ok {
			config["thinkingBudget"] = budget
		}
	case "disabled":
		config["thinkingBudget"], config["includeThoughts"] = 0, false
	default:
		return fmt.Errorf("expected a type that is enabled or disabled")
	}
	return generation("thinkingConfig")(members, config)
}

func reasoningEffort(members map[string]any, value any) error {
	word, ok := value.(string)
	if !ok {
		return fmt.Errorf("expected a word such as low")
	}
	return generation("thinkingConfig")(members, effort(word))
}

// effort is a word for the amount of thinking.
type effort string

// budgets are LiteLLM's thinking budgets in tokens for each effort, for models without thinking levels.
var budgets = map[effort]int{"none": 0, "disable": 0, "minimal": 128, "low": 1024, "medium": 2048, "high": 4096}

// levels are the thinking levels for each effort.
var levels = map[effort]string{"minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}

// withThinking returns members with an effort in the model's form.
func (m *Model) withThinking(members map[string]any) (map[string]any, error) {
	generation, _ := members["generationConfig"].(map[string]any)
	word, ok := generation["thinkingConfig"].(effort)
	if !ok {
		return members, nil
	}
	config := map[string]any{}
	if level, ok := levels[word]; ok && m.levels {
		config["includeThoughts"], config["thinkingLevel"] = true, level
	} else if budget, ok := budgets[word]; ok && !m.levels {
		config["includeThoughts"], config["thinkingBudget"] = budget > 0, budget
	} else if m.levels {
		return nil, fmt.Errorf("reasoning_effort: expected minimal, low, medium or high: the model always thinks")
	} else {
		return nil, fmt.Errorf("reasoning_effort: expected none, minimal, low, medium or high")
	}
	members, generation = maps.Clone(members), maps.Clone(generation)
	generation["thinkingConfig"], members["generationConfig"] = config, generation
	return members, nil
}

// generationOf finds the generation in a model's name, such as gemini-2.5-flash.
var generationOf = lazy.Regexp(`gemini-([0-9]+)`)

// hasLevels reports whether a model is of Gemini 3 or later. A name without a number,
// such as gemini-flash-latest, means a current model.
func hasLevels(model string) bool {
	found := generationOf().FindStringSubmatch(model)
	if found == nil {
		return strings.Contains(model, "gemini")
	}
	n, err := strconv.Atoi(found[1])
	return err != nil || n >= 3
}
