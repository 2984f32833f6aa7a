package catalogue

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// asked has the parts of a request that a server sees.
type asked struct{ url, key, model, body string }

// recorder refuses all requests and keeps the last one.
type recorder struct{ asked }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.asked = asked{url: req.URL.String(), body: string(body)}
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
		r.key += strings.TrimPrefix(req.Header.Get(name), "Bearer ")
	}
	_, after, _ := strings.Cut(r.body, `"model":"`)
	r.model, _, _ = strings.Cut(after, `"`)
	return &http.Response{StatusCode: http.StatusTeapot, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}

func TestWhereANameIsAsked(t *testing.T) {
	const at = "AZURE_API_BASE=https://r.openai.azure.com"
	for _, tc := range []struct {
		name string
		env  string // separated by spaces
		want asked
	}{
		{"openai/gpt-5", "OPENAI_API_KEY=k", asked{url: "https://api.openai.com/v1/chat/completions", key: "k", model: "gpt-5"}},
		{"gpt-5", "OPENAI_API_KEY=k", asked{url: "https://api.openai.com/v1/chat/completions", key: "k", model: "gpt-5"}},
		{"o3", "OPENAI_API_KEY=k", asked{url: "https://api.openai.com/v1/chat/completions", key: "k", model: "o3"}},
		{"openai/responses/gpt-5", "OPENAI_API_KEY=k", asked{url: "https://api.openai.com/v1/responses", key: "k", model: "gpt-5"}},
		{"gpt-5-codex", "OPENAI_API_KEY=k", asked{url: "https://api.openai.com/v1/responses", key: "k", model: "gpt-5-codex"}},
		{"openai/gpt-5-codex", "OPENAI_API_KEY=k OPENAI_BASE_URL=http://h/v1", asked{url: "http://h/v1/chat/completions", key: "k", model: "gpt-5-codex"}},
		{"claude-sonnet-4-5", "ANTHROPIC_API_KEY=k", asked{url: "https://api.anthropic.com/v1/messages", key: "k", model: "claude-sonnet-4-5"}},
		{"openrouter/z-ai/glm-4.6", "OPENROUTER_API_KEY=k", asked{url: "https://openrouter.ai/api/v1/chat/completions", key: "k", model: "z-ai/glm-4.6", body: `"usage":{"include":true}`}},
		{"hosted_vllm/Qwen/Q", "HOSTED_VLLM_API_BASE=http://gpu:8000/v1", asked{url: "http://gpu:8000/v1/chat/completions", key: "none", model: "Qwen/Q"}},
		{"hosted_vllm/responses/openai/gpt-oss", "HOSTED_VLLM_API_BASE=http://gpu:8000/v1", asked{url: "http://gpu:8000/v1/responses", key: "none", model: "openai/gpt-oss"}},
		{"vllm/Q", "HOSTED_VLLM_API_KEY=k", asked{url: "http://localhost:8000/v1/chat/completions", key: "k", model: "Q"}},
		{"sglang/Q", "", asked{url: "http://localhost:30000/v1/chat/completions", key: "none", model: "Q"}},
		{"ollama/q:8b", "", asked{url: "http://localhost:11434/v1/chat/completions", key: "none", model: "q:8b"}},
		{"ollama_chat/q", "OLLAMA_API_BASE=http://box:11434", asked{url: "http://box:11434/v1/chat/completions", key: "none", model: "q"}},
		{"ollama/q", "OLLAMA_API_BASE=http://box/own/v1", asked{url: "http://box/own/v1/chat/completions", key: "none", model: "q"}},
		{"litellm_proxy/team/m", "LITELLM_PROXY_API_BASE=http://p:4000 LITELLM_PROXY_API_KEY=k", asked{url: "http://p:4000/chat/completions", key: "k", model: "team/m"}},
		{"azure/d", "AZURE_API_KEY=k " + at, asked{url: "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21", key: "k", model: "d"}},
		{"azure/d", "AZURE_API_KEY=k AZURE_API_VERSION=v " + at + "/", asked{url: "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=v", key: "k", model: "d"}},
		{"azure/d", "AZURE_API_KEY=k " + at + "/openai/deployments/own/chat/completions", asked{url: "https://r.openai.azure.com/openai/deployments/own/chat/completions?api-version=2024-10-21", key: "k", model: "d"}},
		{"azure/d", "AZURE_API_KEY=k " + at + "/openai/v1/", asked{url: "https://r.openai.azure.com/openai/v1/chat/completions", key: "k", model: "d"}},
		{"azure/responses/d", "AZURE_API_KEY=k " + at, asked{url: "https://r.openai.azure.com/openai/responses?api-version=2025-03-01-preview", key: "k", model: "d"}},
		{"deepseek/deepseek-chat", "DEEPSEEK_API_KEY=k", asked{url: "https://api.deepseek.com/v1/chat/completions", key: "k", model: "deepseek-chat"}},
		{"mistral/devstral", "MISTRAL_API_KEY=k", asked{url: "https://api.mistral.ai/v1/chat/completions", key: "k", model: "devstral"}},
		{"grok-4", "XAI_API_KEY=k", asked{url: "https://api.x.ai/v1/chat/completions", key: "k", model: "grok-4"}},
		{"groq/openai/gpt-oss-120b", "GROQ_API_KEY=k", asked{url: "https://api.groq.com/openai/v1/chat/completions", key: "k", model: "openai/gpt-oss-120b"}},
		{"together_ai/m", "TOGETHERAI_API_KEY=k", asked{url: "https://api.together.xyz/v1/chat/completions", key: "k", model: "m"}},
		{"fireworks_ai/m", "FIREWORKS_API_KEY=k", asked{url: "https://api.fireworks.ai/inference/v1/chat/completions", key: "k", model: "m"}},
		{"moonshot/kimi", "MOONSHOT_API_KEYS=k", asked{url: "https://api.moonshot.ai/v1/chat/completions", key: "k", model: "kimi"}},
		{"zai/glm", "ZAI_API_KEY=k", asked{url: "https://api.z.ai/api/paas/v4/chat/completions", key: "k", model: "glm"}},
		{"dashscope/qwen", "DASHSCOPE_API_KEY=k", asked{url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions", key: "k", model: "qwen"}},
		{"minimax/m", "MINIMAX_API_KEY=k", asked{url: "https://api.minimax.io/v1/chat/completions", key: "k", model: "m"}},
	} {
		if got := askedBy(t, with(tc.name, strings.Fields(tc.env)...)); got.url != tc.want.url || got.key != tc.want.key ||
			got.model != tc.want.model || !strings.Contains(got.body, tc.want.body) {
			t.Errorf("%s with %s:\ngot  %+v\nwant %+v", tc.name, tc.env, got, tc.want)
		}
	}
}

// askedBy returns the request that a server receives from a model.
func askedBy(t *testing.T, s Config) asked {
	t.Helper()
	seen := &recorder{}
	s.HTTP, s.IgnoreCost = &http.Client{Transport: seen}, true
	m, err := Find(s)
	if err != nil {
		t.Errorf("%s: %v", s.Model, err)
		return asked{}
	}
	models, err := m.Open(false)
	if err != nil {
		t.Fatal(err)
	}
	model, err := models(Attempt{ID: "a__1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Generate(t.Context(), question()); err == nil {
		t.Errorf("%s: a refusal counts as an answer", s.Model)
	}
	return seen.asked
}

func TestSettingsThatChooseTheProvider(t *testing.T) {
	s := with("my/model", "HOSTED_VLLM_API_BASE=http://gpu:8000/v1")
	s.Kwargs = map[string]any{"custom_llm_provider": "hosted_vllm"}
	if got := askedBy(t, s); got.url != "http://gpu:8000/v1/chat/completions" || got.model != "my/model" || strings.Contains(got.body, "custom") {
		t.Errorf("custom_llm_provider: %+v", got)
	}
	s = with("meta-llama/Llama-4", "OPENAI_BASE_URL=http://localhost:8000/v1")
	s.Provider = "openai"
	if got := askedBy(t, s); got.url != "http://localhost:8000/v1/chat/completions" || got.model != "meta-llama/Llama-4" {
		t.Errorf("a provider that is set apart: %+v", got)
	}
	s = with("openai/gpt-5", "OPENAI_API_KEY=k")
	s.Responses = true
	if got := askedBy(t, s); got.url != "https://api.openai.com/v1/responses" {
		t.Errorf("responses: %+v", got)
	}
	s = with("azure/d", "AZURE_API_KEY=k")
	s.Kwargs = map[string]any{"api_base": "https://r.openai.azure.com", "api_version": "v"}
	if got := askedBy(t, s); got.url != "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=v" {
		t.Errorf("Azure by model_kwargs: %+v", got)
	}
}
