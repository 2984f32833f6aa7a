package gemini

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
)

// inGeneration are the members as LiteLLM takes them that have the same values in the
// protocol's generationConfig.
var inGeneration = map[string]string{
	"temperature": "temperature", "top_p": "topP", "top_k": "topK", "seed": "seed",
	"max_tokens": "maxOutputTokens", "max_completion_tokens": "maxOutputTokens", "max_output_tokens": "maxOutputTokens",
	"presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty",
	"logprobs": "responseLogprobs", "top_logprobs": "logprobs",
	"thinking_config": "thinkingConfig", "thinkingConfig": "thinkingConfig",
	"media_resolution": "mediaResolution",
}

// asNamed are members that the protocol has, under either spelling.
var asNamed = map[string]string{
	"safety_settings": "safetySettings", "safetySettings": "safetySettings",
	"tool_config": "toolConfig", "toolConfig": "toolConfig",
	"cached_content": "cachedContent", "cachedContent": "cachedContent",
	"service_tier": "serviceTier", "serviceTier": "serviceTier",
	"labels": "labels",
}

// translate makes members as LiteLLM takes them those of a generateContent request. How
// much a model is to think stays an [effort] until the model is known.
func translate(members map[string]any) (refused []string, err error) {
	given := maps.Clone(members)
	maps.DeleteFunc(given, func(_ string, value any) bool { return value == nil }) // it says nothing
	clear(members)
	generation := map[string]any{}
	for _, name := range []string{"generation_config", "generationConfig"} {
		if own, ok := given[name].(map[string]any); ok {
			maps.Copy(generation, own)
			delete(given, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		switch to := inGeneration[name]; {
		case to != "":
			generation[to] = value
			continue
		case asNamed[name] != "":
			members[asNamed[name]] = value
			continue
		}
		ok := true
		switch name {
		case "n", "parallel_tool_calls": // one answer with any number of calls is what there is
			ok = name == "n" || value == true
		case "stop", "stop_sequences":
			generation["stopSequences"], err = stops(value)
		case "response_format":
			ok = responseFormat(value, generation)
		case "reasoning_effort":
			text, isText := value.(string)
			if generation["thinkingConfig"] = effort(text); !isText {
				err = fmt.Errorf("expected a word such as low")
			}
		case "thinking":
			generation["thinkingConfig"], err = thinking(value)
		case "tool_choice":
			members["toolConfig"], err = toolChoice(value)
		default:
			ok = false
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !ok {
			refused = append(refused, name)
		}
	}
	if len(generation) > 0 {
		members["generationConfig"] = generation
	}
	return refused, nil
}

func stops(value any) (any, error) {
	switch v := value.(type) {
	case string:
		return []string{v}, nil
	case []any, []string:
		return v, nil
	}
	return nil, fmt.Errorf("expected a text or a list of them")
}

// responseFormat reads OpenAI's response_format; it reports whether the protocol has it.
func responseFormat(value any, generation map[string]any) bool {
	format, _ := value.(map[string]any)
	switch format["type"] {
	case "text":
		return true
	case "json_object":
		generation["responseMimeType"] = "application/json"
		return true
	case "json_schema":
		named, _ := format["json_schema"].(map[string]any)
		generation["responseMimeType"], generation["responseJsonSchema"] = "application/json", named["schema"]
		return named["schema"] != nil
	}
	return false
}

// toolChoice reads OpenAI's tool_choice.
func toolChoice(value any) (any, error) {
	calling := map[string]any{}
	switch v := value.(type) {
	case string:
		mode, ok := map[string]string{"auto": "AUTO", "none": "NONE", "required": "ANY", "any": "ANY"}[v]
		if !ok {
			return nil, fmt.Errorf("expected auto, required, none or the name of a function")
		}
		calling["mode"] = mode
	case map[string]any:
		function, _ := v["function"].(map[string]any)
		name, ok := function["name"].(string)
		if !ok {
			return nil, fmt.Errorf("expected auto, required, none or the name of a function")
		}
		calling["mode"], calling["allowedFunctionNames"] = "ANY", []string{name}
	default:
		return nil, fmt.Errorf("expected auto, required, none or the name of a function")
	}
	return map[string]any{"functionCallingConfig": calling}, nil
}

// thinking reads Anthropic's member of this name.
func thinking(value any) (any, error) {
	v, _ := value.(map[string]any)
	switch v["type"] {
	case "enabled":
		config := map[string]any{"includeThoughts": true}
		if budget, ok := v["budget_tokens"]; ok {
			config["thinkingBudget"] = budget
		}
		return config, nil
	case "disabled":
		return map[string]any{"thinkingBudget": 0, "includeThoughts": false}, nil
	}
	return nil, fmt.Errorf("expected a type that is enabled or disabled")
}

// effort is a word for how much a model is to think.
type effort string

// budgets are the tokens that LiteLLM lets a model think for each effort, where a model
// has no levels of thinking.
var budgets = map[effort]int{"none": 0, "disable": 0, "minimal": 128, "low": 1024, "medium": 2048, "high": 4096}

// levels are the efforts of models that have levels.
var levels = map[effort]string{"minimal": "MINIMAL", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}

// withThinking returns members with an effort as the model takes it.
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
