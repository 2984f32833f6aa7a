package anthropic

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// same lists the members of a request that Anthropic's servers take and the run does not set, without the
// sampling and translated ones. They are from the SDK's MessageNewParams and BetaMessageNewParams.
var same = []string{
	"cache_control", "compaction", "container", "context_management", "diagnostics", "fallback_credit_token", "inference_geo",
	"max_tokens", "mcp_servers", "metadata", "output_config", "output_format", "speed",
}

// translate says how a model takes model_kwargs. Anthropic's servers refuse unknown members; other servers
// receive them.
func translate(members map[string]any, model, base string) (refused []string, err error) {
	f := familyOf(model)
	rows := []endpoint.Keyword{
		{Names: "max_completion_tokens", Take: endpoint.As("max_tokens")},
		{Names: "user", Take: user},
		{Names: "service_tier", Take: serviceTier},
		{Names: "tool_choice", Take: toolChoice},
		{Names: "parallel_tool_calls", Take: parallelCalls},
		{Names: "stop", Take: stop},
		{Names: "stop_sequences", Take: endpoint.As("stop_sequences")},
		{Names: "thinking", Take: f.thinking},
		{Names: "reasoning_effort", Take: f.effort},
		{Names: "response_format", Take: responseFormat},
		{Names: "temperature", Take: f.temperature},
		{Names: "top_p", Take: f.sampling("top_p")},
		{Names: "top_k", Take: f.sampling("top_k")},
		{Names: "n", Take: endpoint.Ignore}, // always 1
		{Names: "audio frequency_penalty function_call logit_bias logprobs modalities prediction presence_penalty prompt_cache_key " +
			"prompt_cache_retention safety_identifier seed store top_logprobs verbosity web_search_options", Take: endpoint.Refuse},
	}
	return endpoint.Keywords{Rows: rows, Same: same, Open: !isAnthropic(base)}.Translate(members)
}

// isAnthropic reports whether a base URL is Anthropic's own server.
func isAnthropic(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Hostname() == "api.anthropic.com"
}

// sampling returns the Take of a member that newer models refuse.
func (f family) sampling(name string) func(map[string]any, any) error {
	if f.samples() {
		return endpoint.As(name)
	}
	return endpoint.Refuse
}

// temperature also accepts 1 for newer models and leaves it out, because it is the only value that they have.
func (f family) temperature(members map[string]any, value any) error {
	if !f.samples() && (value == 1 || value == 1.0 || value == int64(1)) {
		return nil
	}
	return f.sampling("temperature")(members, value)
}

func user(members map[string]any, value any) error {
	return endpoint.Fill(members, map[string]any{"user_id": value}, "metadata")
}

func serviceTier(members map[string]any, value any) error {
	switch value {
	case "default":
		value = "standard_only"
	case "flex", "priority":
		return endpoint.Refuse(members, value)
	}
	return endpoint.Fill(members, value, "service_tier")
}

// toolChoice takes OpenAI's forms and the API's own.
func toolChoice(members map[string]any, value any) error {
	var choice map[string]any
	switch given := value.(type) {
	case string:
		kind, ok := map[string]string{"auto": "auto", "required": "any", "any": "any", "none": "none"}[given]
		if !ok {
			return fmt.Errorf("expected auto, required, none or the name of a tool in an object")
		}
		choice = map[string]any{"type": kind}
	case map[string]any:
		choice = maps.Clone(given)
		if function, ok := given["function"].(map[string]any); ok {
			choice = map[string]any{"type": "tool", "name": function["name"]}
		}
	default:
		return fmt.Errorf("expected a string or an object")
	}
	return endpoint.Fill(members, choice, "tool_choice")
}

// parallelCalls writes false as a member of tool_choice.
func parallelCalls(members map[string]any, value any) error {
	parallel, ok := value.(bool)
	if !ok {
		return fmt.Errorf("expected true or false")
	}
	choice, _ := members["tool_choice"].(map[string]any) // a copy, see toolChoice
	if choice == nil {
		choice = map[string]any{"type": "auto"}
	}
	if !parallel && choice["type"] != "none" {
		choice["disable_parallel_tool_use"] = true
		members["tool_choice"] = choice
	}
	return nil
}

func stop(members map[string]any, value any) error {
	switch text := value.(type) {
	case string:
		value = []any{text}
	case []any, []string:
	default:
		return fmt.Errorf("expected a string or a list of strings")
	}
	return endpoint.Fill(members, value, "stop_sequences")
}

// thinking checks the form of thinking that the model takes.
func (f family) thinking(members map[string]any, value any) error {
	thinking, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("expected an object with a type")
	}
	if thinking["type"] == "enabled" && f.version > 406 {
		return fmt.Errorf("this model decides itself how long it thinks: write {type: adaptive}, " +
			"and model_kwargs.reasoning_effort for how much; extra_body.thinking is sent unchanged")
	}
	return endpoint.Fill(members, value, "thinking")
}

// budgets are LiteLLM's thinking budgets for each effort, for models without efforts of their own.
var budgets = map[string]int{"minimal": minBudget, "low": minBudget, "medium": 2048, "high": 4096, "xhigh": 16384, "max": 32768}

// minBudget is the smallest budget of thinking that the API takes.
const minBudget = 1024

// effort writes reasoning_effort in the model's form, as an effort or as a budget.
func (f family) effort(members map[string]any, value any) error {
	if object, ok := value.(map[string]any); ok { // OpenAI's Responses
		value = object["effort"]
	}
	if value == nil {
		return nil
	}
	effort, ok := value.(string)
	budget, known := budgets[effort]
	thinking := map[string]any{"type": "adaptive"}
	switch {
	case !ok:
		return fmt.Errorf("expected a string")
	case effort == "none" || effort == "disable":
		thinking["type"] = "disabled"
		return endpoint.Fill(members, thinking, "thinking")
	case !known:
		return fmt.Errorf("expected one of none, minimal, low, medium, high, xhigh, max")
	case !f.adapts() && !f.budgets():
		return endpoint.Refuse(members, value)
	case !f.adapts():
		thinking["type"], thinking["budget_tokens"] = "enabled", budget
		return endpoint.Fill(members, thinking, "thinking")
	case effort == "minimal":
		effort = "low"
	}
	if err := endpoint.Fill(members, thinking, "thinking"); err != nil {
		return err
	}
	return output(members, "effort", effort)
}

func responseFormat(members map[string]any, value any) error {
	format, ok := value.(map[string]any)
	schema, _ := format["json_schema"].(map[string]any)
	switch {
	case !ok:
		return fmt.Errorf("expected an object with a type")
	case format["type"] == "text":
		return nil
	case format["type"] == "json_schema" && schema["schema"] != nil:
		return output(members, "format", map[string]any{"type": "json_schema", "schema": schema["schema"]})
	}
	return endpoint.Refuse(members, value)
}

// output sets a member of output_config if it is missing or null.
func output(members map[string]any, name string, value any) error {
	if config, ok := members["output_config"].(map[string]any); ok && config[name] == nil {
		config = maps.Clone(config)
		delete(config, name)
		members["output_config"] = config
	}
	return endpoint.Fill(members, value, "output_config", name)
}

// settings are derived once from an endpoint's members.
type settings struct {
	body  map[string]any // members of each request
	tools []string       // names of members that need tools
	mark  []byte         // a block's last member, which makes it a cache breakpoint; nil sets none
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

// maxTokens returns the family's default, raised to leave room for a thinking budget. Most is the largest
// number of tokens that the model can write, 0 if it is not known.
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

// family holds the rules that follow from a model's name. The rules up to version 5 are from
// LiteLLM's registry (July 2026), models.dev and Anthropic's documentation; later ones
// are assumed to follow the last.
type family struct {
	line    string // opus, sonnet, haiku, ...; "" if it is not a Claude model
	version int    // 405 is 4.5
}

// Names as Anthropic, Bedrock and Vertex write them; older ones have the version first.
var (
	lineFirst    = lazy.Regexp(`claude-([a-z]+)-(\d)(?:[-.](\d{1,2}))?(?:[-@:\[]|$)`)
	versionFirst = lazy.Regexp(`claude-(\d)(?:[-.](\d{1,2}))?-([a-z]+)`)
)

func familyOf(model string) family {
	line, major, minor := "", "", ""
	if m := lineFirst().FindStringSubmatch(model); m != nil {
		line, major, minor = m[1], m[2], m[3]
	} else if m := versionFirst().FindStringSubmatch(model); m != nil {
		major, minor, line = m[1], m[2], m[3]
	}
	if line == "" {
		return family{}
	}
	high, _ := strconv.Atoi(major)
	low, _ := strconv.Atoi(minor) // 0 if it is missing
	return family{line, high*100 + low}
}

// adapts reports whether the model decides itself how long it thinks, within an effort.
func (f family) adapts() bool { return f.version >= 406 }

// budgets reports whether the model thinks within a budget of tokens.
func (f family) budgets() bool { return f.version >= 307 && f.version <= 406 }

// samples reports whether temperature, top_p and top_k may be set.
func (f family) samples() bool { return f.version < 407 }

// defaultTokens is used if max_tokens is not set, because the API requires a value. It is as much as a step
// can use, so that an endless answer is truncated. It is less for models before 4.5, which refuse a
// conversation that exceeds their context together with max_tokens; later ones end the answer there instead.
func (f family) defaultTokens() int {
	switch {
	case f.line == "":
		return 8192 // another provider's model behind the same protocol
	case f.version < 305:
		return 4096 // its maximum
	case f.version < 307:
		return 8192 // its maximum
	case f.version < 405:
		return 16000
	}
	return 64000 // the smallest maximum of later models
}
