package anthropic

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// taken are the members of a request that Anthropic's servers take, besides those that the
// run sets: those of the SDK's MessageNewParams and BetaMessageNewParams.
var taken = []string{
	"cache_control", "compaction", "container", "context_management", "diagnostics", "fallback_credit_token", "inference_geo",
	"max_tokens", "mcp_servers", "metadata", "output_config", "output_format", "service_tier", "speed", "stop_sequences", "temperature",
	"thinking", "tool_choice", "top_k", "top_p",
}

// untaken are members of OpenAI's requests that have no counterpart here.
var untaken = []string{
	"audio", "frequency_penalty", "function_call", "logit_bias", "logprobs", "modalities", "prediction", "presence_penalty",
	"prompt_cache_key", "prompt_cache_retention", "safety_identifier", "seed", "store", "top_logprobs", "verbosity", "web_search_options",
}

// sampling are the members that newer models refuse.
var sampling = []string{"temperature", "top_p", "top_k"}

// budgets are the budgets of thinking that LiteLLM gives to an effort, for models that
// have no effort of their own.
var budgets = map[string]int{"minimal": minBudget, "low": minBudget, "medium": 2048, "high": 4096, "xhigh": 16384, "max": 32768}

// minBudget is the smallest budget of thinking that the API takes.
const minBudget = 1024

// translation is a change of members to those of the Messages API.
type translation struct {
	members map[string]any
	family  family
	refused []string
}

// translate returns what turns members as LiteLLM takes them into those of a request to
// model. Anthropic's servers and the clouds refuse members that they do not know; other
// servers get them.
func translate(model string, strict bool) func(map[string]any) ([]string, error) {
	return func(members map[string]any) ([]string, error) {
		t := &translation{members: members, family: familyOf(model)}
		t.leaveOut()
		t.rename()
		for _, step := range []func() error{t.toolChoice, t.stopSequences, t.thinking, t.effort, t.format} {
			if err := step(); err != nil {
				return nil, err
			}
		}
		if strict {
			for _, name := range endpoint.Others(members, slices.Concat(taken, t.refused)) {
				t.refuse(name)
			}
		}
		return t.refused, nil
	}
}

func (t *translation) refuse(name string) { t.refused = append(t.refused, name) }

// take removes a member and returns its value; nil if there is none.
func (t *translation) take(name string) any {
	value := t.members[name]
	delete(t.members, name)
	return value
}

// leaveOut refuses what the API or the model does not take, and removes what says nothing.
func (t *translation) leaveOut() {
	maps.DeleteFunc(t.members, func(_ string, value any) bool { return value == nil })
	delete(t.members, "n") // it is 1
	for _, name := range untaken {
		if _, ok := t.members[name]; ok {
			t.refuse(name)
		}
	}
	if t.family.samples() {
		return
	}
	for _, name := range sampling {
		if value, ok := t.members[name]; ok && name == "temperature" && isOne(value) {
			delete(t.members, name) // that is the only temperature they have
		} else if ok {
			t.refuse(name)
		}
	}
}

func isOne(value any) bool { return value == 1 || value == 1.0 || value == int64(1) }

// rename moves values that stay the same under another name.
func (t *translation) rename() {
	if tokens := t.take("max_completion_tokens"); tokens != nil && t.members["max_tokens"] == nil {
		t.members["max_tokens"] = tokens
	}
	if user := t.take("user"); user != nil && t.members["metadata"] == nil {
		t.members["metadata"] = map[string]any{"user_id": user}
	}
	switch t.members["service_tier"] {
	case "default":
		t.members["service_tier"] = "standard_only"
	case "flex", "priority":
		t.refuse("service_tier")
	}
}

// toolChoice writes OpenAI's forms of tool_choice and parallel_tool_calls as one object.
func (t *translation) toolChoice() error {
	var choice map[string]any
	switch given := t.take("tool_choice").(type) {
	case nil:
	case string:
		kind, ok := map[string]string{"auto": "auto", "required": "any", "any": "any", "none": "none"}[given]
		if !ok {
			return fmt.Errorf("tool_choice: expected auto, required, none or the name of a tool in an object")
		}
		choice = map[string]any{"type": kind}
	case map[string]any:
		choice = maps.Clone(given)
		if function, ok := given["function"].(map[string]any); ok {
			choice = map[string]any{"type": "tool", "name": function["name"]}
		}
	default:
		return fmt.Errorf("tool_choice: expected a string or an object")
	}
	switch parallel := t.take("parallel_tool_calls").(type) {
	case nil:
	case bool:
		if !parallel && choice == nil {
			choice = map[string]any{"type": "auto"}
		}
		if !parallel && choice["type"] != "none" {
			choice["disable_parallel_tool_use"] = true
		}
	default:
		return fmt.Errorf("parallel_tool_calls: expected true or false")
	}
	if choice != nil {
		t.members["tool_choice"] = choice
	}
	return nil
}

func (t *translation) stopSequences() error {
	switch stop := t.take("stop").(type) {
	case nil:
	case string:
		t.members["stop_sequences"] = []any{stop}
	case []any, []string:
		t.members["stop_sequences"] = stop
	default:
		return fmt.Errorf("stop: expected a string or a list of strings")
	}
	return nil
}

// thinking checks the form of thinking that the model takes.
func (t *translation) thinking() error {
	thinking, ok := t.members["thinking"].(map[string]any)
	if t.members["thinking"] != nil && !ok {
		return fmt.Errorf("thinking: expected an object with a type")
	}
	if thinking["type"] == "enabled" && t.family.version > 406 {
		return fmt.Errorf("thinking: this model decides itself how long it thinks: write {type: adaptive}, " +
			"and model_kwargs.reasoning_effort for how much; extra_body.thinking is sent unchanged")
	}
	return nil
}

// effort writes reasoning_effort as the model has it: as an effort, or as a budget. What
// is said of thinking and output_config themselves wins.
func (t *translation) effort() error {
	given := t.take("reasoning_effort")
	if object, ok := given.(map[string]any); ok { // OpenAI's Responses
		given = object["effort"]
	}
	if given == nil {
		return nil
	}
	effort, ok := given.(string)
	budget, known := budgets[effort]
	switch {
	case !ok:
		return fmt.Errorf("reasoning_effort: expected a string")
	case effort == "none" || effort == "disable":
		t.unless("thinking", map[string]any{"type": "disabled"})
	case !known:
		return fmt.Errorf("reasoning_effort: expected one of none, minimal, low, medium, high, xhigh, max")
	case t.family.budgets() && !t.family.adapts():
		t.unless("thinking", map[string]any{"type": "enabled", "budget_tokens": budget})
	case !t.family.adapts():
		t.refuse("reasoning_effort")
	default:
		if effort == "minimal" {
			effort = "low"
		}
		t.unless("thinking", map[string]any{"type": "adaptive"})
		return t.output("effort", effort)
	}
	return nil
}

// format writes response_format as the format of the output.
func (t *translation) format() error {
	given, ok := t.members["response_format"].(map[string]any)
	if !ok {
		if t.members["response_format"] != nil {
			return fmt.Errorf("response_format: expected an object with a type")
		}
		return nil
	}
	schema, _ := given["json_schema"].(map[string]any)
	switch {
	case given["type"] == "text":
		delete(t.members, "response_format")
	case given["type"] == "json_schema" && schema["schema"] != nil:
		delete(t.members, "response_format")
		return t.output("format", map[string]any{"type": "json_schema", "schema": schema["schema"]})
	default:
		t.refuse("response_format")
	}
	return nil
}

func (t *translation) unless(name string, value any) {
	if t.members[name] == nil {
		t.members[name] = value
	}
}

// output sets a member of output_config that is not set yet.
func (t *translation) output(name string, value any) error {
	config, ok := t.members["output_config"].(map[string]any)
	if t.members["output_config"] != nil && !ok {
		return fmt.Errorf("output_config: expected an object")
	}
	config = maps.Clone(config)
	if config == nil {
		config = map[string]any{}
	}
	if config[name] == nil {
		config[name] = value
	}
	t.members["output_config"] = config
	return nil
}

// settings are what a client makes of its endpoint's members, once.
type settings struct {
	body  map[string]any // members of each request
	tools []string       // those of them that need tools
	mark  []byte         // of a cache breakpoint, as the last member of a block; nil sets none
}

// newSettings completes the members of requests.
func newSettings(at *endpoint.Endpoint) (settings, error) {
	s := settings{body: maps.Clone(at.Body), tools: []string{"tool_choice"}}
	s.body["model"] = at.Model
	if at.Stream {
		s.body["stream"] = true
	}
	if s.body["max_tokens"] == nil {
		known, _ := at.Prices.Find(at.Provider+"/"+at.Model, at.Model)
		s.body["max_tokens"] = maxTokens(familyOf(at.Model), s.body["thinking"], int(known.Output))
	}
	if at.CacheControl != endpoint.CacheControlEnd {
		return s, nil
	}
	control := any(map[string]any{"type": "ephemeral"})
	if given := s.body["cache_control"]; given != nil {
		control = given
		delete(s.body, "cache_control")
	}
	text, err := history.Encode(control)
	s.mark = slices.Concat([]byte(`,"cache_control":`), text)
	return s, err
}

// maxTokens is the family's default, beside which a budget of thinking finds room. Most
// is what the model can write, 0 if that is not known.
func maxTokens(f family, thinking any, most int) int {
	tokens := f.defaultTokens()
	if object, ok := thinking.(map[string]any); ok {
		switch budget := object["budget_tokens"].(type) {
		case int:
			tokens += budget
		case float64:
			tokens += int(min(budget, math.MaxInt32))
		}
	}
	if most > 0 {
		return min(tokens, most)
	}
	return tokens
}
