package gemini

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

func TestKwargsBecomeMembersOfTheRequest(t *testing.T) {
	tests := []struct{ model, kwargs, want string }{
		{"gemini-3-pro", `{"temperature":0.5,"top_p":1,"top_k":3,"seed":4,"max_completion_tokens":5,"presence_penalty":1,"frequency_penalty":2,"n":1}`, `{"generationConfig":{"temperature":0.5,"topP":1,"topK":3,"seed":4,"maxOutputTokens":5,"presencePenalty":1,"frequencyPenalty":2}}`},
		{"gemini-3-pro", `{"reasoning_effort":"high"}`, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}}`},
		{"gemini-flash-latest", `{"reasoning_effort":"minimal"}`, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"MINIMAL"}}}`},
		{"gemini-2.5-pro", `{"reasoning_effort":"high"}`, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":4096}}}`},
		{"gemini-2.5-flash", `{"reasoning_effort":"none"}`, `{"generationConfig":{"thinkingConfig":{"includeThoughts":false,"thinkingBudget":0}}}`},
		{"gemini-2.5-pro", `{"thinking":{"type":"enabled","budget_tokens":7}}`, `{"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":7}}}`},
		{"gemini-2.5-pro", `{"thinking":{"type":"disabled"}}`, `{"generationConfig":{"thinkingConfig":{"includeThoughts":false,"thinkingBudget":0}}}`},
		{"gemini-2.5-pro", `{"thinking_config":{"thinkingBudget":1},"generation_config":{"topK":2}}`, `{"generationConfig":{"topK":2,"thinkingConfig":{"thinkingBudget":1}}}`},
		{"gemini-2.5-pro", `{"parallel_tool_calls":true,"tool_choice":{"type":"function","function":{"name":"bash"}}}`, `{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["bash"]}}}`},
		{"gemini-2.5-pro", `{"safety_settings":[{"category":"c","threshold":"BLOCK_NONE"}],"stop":["a","b"]}`, `{"safetySettings":[{"category":"c","threshold":"BLOCK_NONE"}],"generationConfig":{"stopSequences":["a","b"]}}`},
		{"gemini-2.5-pro", `{"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object"}}}}`, `{"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}}`},
		{"gemini-2.5-pro", `{"logit_bias":{},"drop_params":true,"extra_body":{"anything":1}}`, `{"anything":1}`},
	}
	for _, tt := range tests {
		var kwargs, want, got map[string]any
		if err := json.Unmarshal([]byte(tt.kwargs), &kwargs); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		m, err := New(endpoint.Config{Model: tt.model, BaseURL: "http://localhost", Kwargs: kwargs})
		if err != nil {
			t.Errorf("%s: %v", tt.kwargs, err)
			continue
		}
		if err := json.Unmarshal(history.MustEncode(m.members), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v; want %s", tt.kwargs, got, err, tt.want)
		}
	}
}

// mini-swe-agent's configurations contain such values, and so does a configuration that sets a member to
// null.
func TestKwargsWithoutAValueAreNotRefused(t *testing.T) {
	m := model(t, "gemini-3-pro", map[string]any{"drop_params": true, "parallel_tool_calls": true, "temperature": 0.0, "seed": nil, "logit_bias": nil, "reasoning_effort": nil})
	if got := sent(t, m, &llm.Request{Messages: []llm.Message{said("user", "u")}}); !strings.Contains(got, `"generationConfig":{"temperature":0}`) || len(m.Dropped()) > 0 {
		t.Errorf("sent %s without %v, want the temperature alone, nothing dropped", got, m.Dropped())
	}
}

func TestKwargsThatGeminiDoesNotTakeAreRefused(t *testing.T) {
	for want, kwargs := range map[string]map[string]any{
		"model_kwargs.logit_bias: Gemini does not take it": {"logit_bias": 1},
		"model_kwargs.parallel_tool_calls: Gemini does":    {"parallel_tool_calls": false},
		"model_kwargs.response_format: Gemini does":        {"response_format": map[string]any{"type": "grammar"}},
		"tool_choice: expected auto":                       {"tool_choice": "sometimes"},
		"reasoning_effort: expected minimal":               {"reasoning_effort": "none"},
		"reasoning_effort: expected a word":                {"reasoning_effort": 3},
		"stop: expected":                                   {"stop": 1},
		"extra_body.systemInstruction: is set by the run":  {"extra_body": map[string]any{"systemInstruction": "s"}},
		"thinking: expected":                               {"thinking": map[string]any{"type": "x"}},
	} {
		_, err := New(endpoint.Config{Model: "gemini-3-pro", BaseURL: "http://localhost", Kwargs: kwargs})
		if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want a usage fault with %q", kwargs, err, want)
		}
	}
}

func TestRequestsGoWhereTheConfigurationSays(t *testing.T) {
	tests := []struct {
		base, model, want string
		stream            bool
	}{
		{"", "gemini/gemini-3-pro", "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent", false},
		{"http://h:1/", "gemini-3-pro", "http://h:1/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", true},
		{"http://h/v1", "m", "http://h/v1/models/m:generateContent", false},
		{"http://h/proxy/v1alpha/", "tunedModels/m", "http://h/proxy/v1alpha/tunedModels/m:generateContent", false},
		{"http://h/v1beta?key=q", "models/m", "http://h/v1beta/models/m:generateContent?key=q", false},
		{"http://h?key=q", "m", "http://h/v1beta/models/m:streamGenerateContent?alt=sse&key=q", true},
		{"http://h/gemini", "m", "http://h/gemini/v1beta/models/m:generateContent", false},
	}
	for _, tt := range tests {
		m, err := New(endpoint.Config{
			Model: tt.model, BaseURL: tt.base, APIKey: "k",
			Kwargs: map[string]any{"stream": tt.stream, "extra_headers": map[string]any{"X-Of-Mine": "1"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.URL.String(); got != tt.want || m.Header.Get("X-Goog-Api-Key") != "k" || m.Header.Get("X-Of-Mine") != "1" {
			t.Errorf("%s, %s: got %s, %v; want %s and the key k", tt.base, tt.model, got, m.Header, tt.want)
		}
	}
	m, err := New(endpoint.Config{Model: "m", BaseURL: "http://h"})
	if err != nil || m.Header.Get("X-Goog-Api-Key") != "" {
		t.Errorf("got %v, %v; want no key, no error", m, err)
	}
}
