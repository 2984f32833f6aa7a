package catalogue

import (
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/gemini"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/scripted"
)

// providers is the table. Its first row also serves providers without a row of their own.
var providers = []Provider{
	compatible("openai", openai.Protocol),
	served("anthropic", anthropic.Protocol, func(c endpoint.Config) (llm.Model, error) { return anthropic.New(c) }),
	served("gemini", gemini.Protocol, func(c endpoint.Config) (llm.Model, error) { return gemini.New(c) }),
	{Name: "oracle", Models: []string{"oracle"}, Gold: true, play: playOracle},
	{Name: "noop", Models: []string{"noop"}, play: playNoop},
	{Name: "scripted", Models: []string{"scripted/" + demoScript, "scripted/" + hastyScript, "scripted/PATH"}, play: playScript},

	// The names, variables and addresses are LiteLLM's if it has them.
	further("openrouter", "OpenRouter", "OPENROUTER", "https://openrouter.ai/api/v1"),
	azure(),
	own("litellm_proxy", "the LiteLLM proxy", "LITELLM_PROXY", "http://localhost:4000"),
	own("hosted_vllm", "vLLM", "HOSTED_VLLM", "http://localhost:8000/v1"),
	own("vllm", "vLLM", "HOSTED_VLLM", "http://localhost:8000/v1"),
	own("sglang", "SGLang", "SGLANG", "http://localhost:30000/v1"),
	ollama("ollama"),
	ollama("ollama_chat"),
	further("deepseek", "DeepSeek", "DEEPSEEK", "https://api.deepseek.com/v1"),
	further("mistral", "Mistral", "MISTRAL", "https://api.mistral.ai/v1"),
	further("xai", "xAI", "XAI", "https://api.x.ai/v1"),
	further("groq", "Groq", "GROQ", "https://api.groq.com/openai/v1"),
	further("together_ai", "Together", "TOGETHERAI", "https://api.together.xyz/v1"),
	further("fireworks_ai", "Fireworks", "FIREWORKS", "https://api.fireworks.ai/inference/v1"),
	further("moonshot", "Moonshot", "MOONSHOT", "https://api.moonshot.ai/v1"),
	further("zai", "Z.ai", "ZAI", "https://api.z.ai/api/paas/v4"),
	further("dashscope", "DashScope", "DASHSCOPE", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
	further("minimax", "MiniMax", "MINIMAX", "https://api.minimax.io/v1"),
}

// served returns the row of a provider behind a network.
func served(name string, p endpoint.Protocol, connect func(endpoint.Config) (llm.Model, error)) Provider {
	own, err := url.Parse(p.DefaultBase)
	if err != nil {
		panic(err) // a constant is invalid
	}
	return Provider{
		Name: name, Models: []string{name + "/NAME"}, Key: p.KeyVariable, Base: p.AddressVariable, Host: own.Host, Paid: true,
		protocol: p, prices: price.Known, tells: openaiapi.IsOpenRouter, caching: cachesWhereTold, connect: connect,
	}
}

// cachesWhereTold turns on set_cache_control for models that cache their prompt only on request. The rule is
// mini-swe-agent's, for Claude behind OpenRouter or LiteLLM.
func cachesWhereTold(model string) string {
	model = strings.ToLower(model)
	if slices.ContainsFunc([]string{"anthropic", "sonnet", "opus", "claude"}, func(part string) bool {
		return strings.Contains(model, part)
	}) {
		return endpoint.CacheControlEnd
	}
	return ""
}

// Names and files of the demo's own scripts.
const (
	demoScript  = "demo"
	hastyScript = "demo-hasty"
)

var demoFiles = map[string]string{demoScript: "replies.yaml", hastyScript: "hasty.yaml"}

func playOracle(s Config, _ string) (func(Attempt) *scripted.Model, error) {
	return func(a Attempt) *scripted.Model { return scripted.Oracle([]byte(a.Patch), s.script()) }, nil
}

func playNoop(s Config, _ string) (func(Attempt) *scripted.Model, error) {
	return func(Attempt) *scripted.Model { return scripted.Noop(s.script()) }, nil
}

func playScript(s Config, path string) (func(Attempt) *scripted.Model, error) {
	load := func() (scripted.Script, error) { return scripted.Load(s.path(path)) }
	if file := demoFiles[path]; file != "" && s.Demo != nil {
		load = func() (scripted.Script, error) { return scripted.LoadFS(s.Demo, file) }
	}
	script, err := load()
	if errors.Is(err, fs.ErrNotExist) {
		err = noScript(s, path)
	}
	return func(a Attempt) *scripted.Model { return script.Model(a.ID, s.script()) }, err
}
