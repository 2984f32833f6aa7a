package catalogue

import (
	"cmp"
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/gemini"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/responses"
	"batch.example/batch/llm/scripted"
)

// providers is the table. Its first row also serves providers without a row of their own.
var providers = []Provider{
	compatible("openai", openai.Protocol),
	served("anthropic", anthropic.Protocol, func(c endpoint.Config) (remote, error) { return anthropic.New(c) }),
	served("gemini", gemini.Protocol, func(c endpoint.Config) (remote, error) { return gemini.New(c) }),
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
func served(name string, p endpoint.Protocol, connect func(endpoint.Config) (remote, error)) Provider {
	own, err := url.Parse(p.DefaultBase)
	if err != nil {
		panic(err) // a constant is invalid
	}
	return Provider{
		Name: name, Models: []string{name + "/NAME"}, Key: p.KeyVariable, Base: p.AddressVariable, Host: own.Host, Paid: true,
		protocol: p, connect: connect,
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

// compatible returns the row of a provider with OpenAI's protocols.
func compatible(name string, p endpoint.Protocol) Provider {
	p.Sight = openaiapi.Sight
	row := served(name, p, func(c endpoint.Config) (remote, error) { return openai.Open(c, p) })
	row.answers = func(c endpoint.Config) (remote, error) { return responses.Open(c, p) }
	return row
}

// further returns the row of a provider other than OpenAI; its variables begin with prefix.
func further(name, title, prefix, base string) Provider {
	p := endpoint.Protocol{
		Provider: title, Prefix: name + "/", DefaultBase: base,
		KeyVariable: prefix + "_API_KEY", AddressVariable: prefix + "_API_BASE",
	}
	if title == openaiapi.Azure {
		p.KeyHeader = "Api-Key"
	}
	row := compatible(name, p)
	row.Further = true
	return row
}

// own returns the row of a server that a user runs.
func own(name, title, prefix, base string) Provider {
	row := further(name, title, prefix, base)
	row.Keyless = true
	return row
}

// ollama returns the row of one of Ollama's names. Its variable has the address of Ollama's own protocol;
// OpenAI's is below it, at /v1.
func ollama(name string) Provider {
	const title, prefix = "Ollama", "OLLAMA"
	row := compatible(name, endpoint.Protocol{
		Provider: title, Prefix: name + "/", DefaultBase: "http://localhost:11434/v1",
		KeyVariable: prefix + "_API_KEY", AddressVariable: prefix + "_API_BASE",
		Adapt: func(base string) string {
			u, err := url.Parse(base)
			if err != nil || strings.Trim(u.Path, "/") != "" {
				return base
			}
			return u.JoinPath("v1").String()
		},
	})
	row.Further, row.Keyless = true, true
	return row
}

// azureVersion is the default version of Azure's API: the newest that is not a preview.
const azureVersion = "2024-10-21"

// azureResponses is the first version of Azure's API that has the Responses API.
const azureResponses = "2025-03-01-preview"

// azure returns the row of OpenAI's models at Azure. Their names are names of deployments.
func azure() Provider {
	row := further("azure", openaiapi.Azure, "AZURE", "")
	row.Models, row.Version, row.Host = []string{"azure/DEPLOYMENT"}, "AZURE_API_VERSION", "the address in AZURE_API_BASE"
	chat, responses := row.connect, row.answers
	row.connect = func(c endpoint.Config) (remote, error) {
		c.APIVersion = cmp.Or(c.APIVersion, azureVersion)
		return chat(c)
	}
	row.answers = func(c endpoint.Config) (remote, error) {
		c.APIVersion = cmp.Or(c.APIVersion, azureResponses)
		return responses(c)
	}
	return row
}
