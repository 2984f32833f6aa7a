package anthropic

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/llm/endpoint"
)

func TestModelKwargsBecomeMembersOfTheAPI(t *testing.T) {
	for name, tc := range map[string]struct{ model, kwargs, want string }{
		"nothing":                  {"claude-opus-4-1-20250805", `{}`, `{"max_tokens":16000}`},
		"mini-swe-agent's":         {"claude-sonnet-4-5-20250929", `{"drop_params":true,"parallel_tool_calls":true}`, `{"max_tokens":64000}`},
		"tokens by another name":   {"claude-sonnet-4-5", `{"max_completion_tokens":7}`, `{"max_tokens":7}`},
		"both names":               {"claude-sonnet-4-5", `{"max_completion_tokens":7,"max_tokens":8}`, `{"max_tokens":8}`},
		"sampling":                 {"claude-opus-4-6", `{"temperature":0.5,"top_p":0.9,"top_k":3}`, `{"max_tokens":64000,"temperature":0.5,"top_p":0.9,"top_k":3}`},
		"no sampling":              {"claude-opus-4-7", `{"temperature":0.5,"top_p":0.9,"drop_params":true}`, `{"max_tokens":64000}`},
		"the only temperature":     {"claude-sonnet-5-5", `{"temperature":1.0,"n":1}`, `{"max_tokens":64000}`},
		"a stop":                   {"claude-sonnet-4-5", `{"stop":"x"}`, `{"max_tokens":64000,"stop_sequences":["x"]}`},
		"stops":                    {"claude-sonnet-4-5", `{"stop":["x","y"]}`, `{"max_tokens":64000,"stop_sequences":["x","y"]}`},
		"one tool at a time":       {"claude-sonnet-4-5", `{"parallel_tool_calls":false}`, `{"max_tokens":64000,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`},
		"any tool, one at a time":  {"claude-sonnet-4-5", `{"parallel_tool_calls":false,"tool_choice":"required"}`, `{"max_tokens":64000,"tool_choice":{"type":"any","disable_parallel_tool_use":true}}`},
		"no tool":                  {"claude-sonnet-4-5", `{"parallel_tool_calls":false,"tool_choice":"none"}`, `{"max_tokens":64000,"tool_choice":{"type":"none"}}`},
		"a tool":                   {"claude-sonnet-4-5", `{"tool_choice":{"type":"function","function":{"name":"bash"}}}`, `{"max_tokens":64000,"tool_choice":{"type":"tool","name":"bash"}}`},
		"the API's own choice":     {"claude-sonnet-4-5", `{"tool_choice":{"type":"any"}}`, `{"max_tokens":64000,"tool_choice":{"type":"any"}}`},
		"a budget":                 {"claude-sonnet-4-5", `{"thinking":{"type":"enabled","budget_tokens":60000}}`, `{"max_tokens":124000,"thinking":{"type":"enabled","budget_tokens":60000}}`},
		"effort as a budget":       {"claude-3-7-sonnet-20250219", `{"reasoning_effort":"high"}`, `{"max_tokens":20096,"thinking":{"type":"enabled","budget_tokens":4096}}`},
		"effort":                   {"claude-sonnet-5", `{"reasoning_effort":"xhigh"}`, `{"max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"xhigh"}}`},
		"the least effort":         {"claude-opus-4-6", `{"reasoning_effort":"minimal"}`, `{"max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}`},
		"effort in an object":      {"claude-opus-4-6", `{"reasoning_effort":{"effort":"low"}}`, `{"max_tokens":64000,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}`},
		"no effort":                {"claude-opus-5", `{"reasoning_effort":"none"}`, `{"max_tokens":64000,"thinking":{"type":"disabled"}}`},
		"both of effort":           {"claude-opus-5", `{"reasoning_effort":"low","thinking":{"type":"disabled"},"output_config":{"effort":"max"}}`, `{"max_tokens":64000,"thinking":{"type":"disabled"},"output_config":{"effort":"max"}}`},
		"effort of an older model": {"claude-3-5-haiku-latest", `{"reasoning_effort":"low","drop_params":true}`, `{"max_tokens":8192}`},
		"a user":                   {"glm-5", `{"user":"me"}`, `{"max_tokens":8192,"metadata":{"user_id":"me"}}`},
		"a tier":                   {"claude-sonnet-5", `{"service_tier":"default"}`, `{"max_tokens":64000,"service_tier":"standard_only"}`},
		"a schema":                 {"claude-sonnet-5", `{"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}}`, `{"max_tokens":64000,"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}`},
		"text":                     {"claude-sonnet-5", `{"response_format":{"type":"text"}}`, `{"max_tokens":64000}`},
		"what is dropped":          {"claude-sonnet-5", `{"drop_params":true,"seed":1,"logprobs":true,"frequency_penalty":0,"service_tier":"flex","response_format":{"type":"json_object"}}`, `{"max_tokens":64000}`},
		"what is not translated":   {"claude-sonnet-5", `{"context_management":{"edits":[]},"extra_body":{"seed":1}}`, `{"max_tokens":64000,"context_management":{"edits":[]},"seed":1}`},
		"null":                     {"claude-sonnet-5", `{"temperature":null,"seed":null}`, `{"max_tokens":64000}`},
	} {
		t.Run(name, func(t *testing.T) {
			var kwargs, want, got map[string]any
			decode(t, tc.kwargs, &kwargs)
			decode(t, tc.want, &want)
			m, err := New(endpoint.Config{Model: tc.model, APIKey: "k", Kwargs: kwargs})
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(m.settings.body)
			if err != nil {
				t.Fatal(err)
			}
			decode(t, string(text), &got)
			delete(got, "model")
			delete(got, "stream")
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got: %s", d)
			}
		})
	}
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func TestModelKwargsThatCannotBeTakenAreRefused(t *testing.T) {
	for kwargs, want := range map[string]string{
		`{"seed":1}`:                                   "model_kwargs.seed: Anthropic does not take it",
		`{"temprature":1}`:                             "model_kwargs.temprature: Anthropic does not take it",
		`{"temperature":0}`:                            "model_kwargs.temperature: Anthropic does not take it",
		`{"n":2}`:                                      "model_kwargs.n",
		`{"tool_choice":"some"}`:                       "tool_choice: expected",
		`{"tool_choice":1}`:                            "tool_choice: expected",
		`{"stop":1}`:                                   "stop: expected",
		`{"parallel_tool_calls":"no"}`:                 "parallel_tool_calls: expected",
		`{"reasoning_effort":"most"}`:                  "reasoning_effort: expected one of",
		`{"reasoning_effort":1}`:                       "reasoning_effort: expected a string",
		`{"thinking":true}`:                            "thinking: expected",
		`{"system":"be brief"}`:                        "model_kwargs.system: is set by the run itself",
		`{"extra_body":{"system":""}}`:                 "model_kwargs.extra_body.system: is set by the run itself",
		`{"output_config":1,"reasoning_effort":"low"}`: "output_config: expected",
		`{"response_format":"json"}`:                   "response_format: expected",
		`{"thinking":{"type":"enabled","budget_tokens":2000}}`: "write {type: adaptive}",
	} {
		var members map[string]any
		decode(t, kwargs, &members)
		_, err := New(endpoint.Config{Model: "claude-sonnet-5", APIKey: "k", Kwargs: members})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (%v), want a Usage fault with %q", kwargs, err, fault.KindOf(err), want)
		}
	}
	elsewhere := endpoint.Config{Model: "m", BaseURL: "http://localhost:1", Kwargs: map[string]any{"repetition_penalty": 1.1}}
	if m, err := New(elsewhere); err != nil || m.settings.body["repetition_penalty"] != 1.1 {
		t.Errorf("a member that another server may know: %v, want it sent", err)
	}
	if _, err := New(endpoint.Config{Model: "claude-sonnet-5"}); fault.KindOf(err) != fault.Host || !strings.Contains(fault.HintOf(err), "ANTHROPIC_API_KEY") {
		t.Errorf("without a key: %v, want a Host fault with the name of its variable", err)
	}
}

func TestWhatIsDroppedIsTold(t *testing.T) {
	m, err := New(endpoint.Config{Model: "claude-sonnet-5", APIKey: "k", Kwargs: map[string]any{"drop_params": true, "seed": 1, "logprobs": true, "max_tokens": 9}})
	if err != nil {
		t.Fatal(err)
	}
	told, ok := any(m).(interface{ Dropped() []string }) // as package catalogue asks
	if !ok || !slices.Equal(told.Dropped(), []string{"logprobs", "seed"}) {
		t.Errorf("dropped members are reported: %v; want logprobs and seed", ok)
	}
}

func TestFamiliesOfModels(t *testing.T) {
	for model, want := range map[string]family{
		"claude-opus-4-7": {"opus", 407}, "claude-sonnet-4-5-20250929": {"sonnet", 405}, "claude-sonnet-4-20250514": {"sonnet", 400},
		"claude-3-7-sonnet-20250219": {"sonnet", 307}, "claude-3-haiku-20240307": {"haiku", 300}, "claude-4-opus-20250514": {"opus", 400},
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": {"sonnet", 405}, "anthropic.claude-opus-4-6-v1": {"opus", 406},
		"claude-haiku-4-5@20251001": {"haiku", 405}, "claude-fable-5-1": {"fable", 501}, "claude-sonnet-5": {"sonnet", 500},
		"anthropic/claude-sonnet-4.6": {"sonnet", 406}, "claude-opus-4-6[1m]": {"opus", 406}, "claude-opus-5-5-20260901": {"opus", 505},
		"gpt-5": {}, "claude": {}, "claude-instant-1.2": {"instant", 102}, "": {},
	} {
		if got := familyOf(model); got != want {
			t.Errorf("%s: got %v, want %v", model, got, want)
		}
	}
}
