package catalogue

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
)

// families list the beginnings of models' names and their providers. A name that only its maker offers needs
// no provider before it.
var families = []struct {
	marks   []string
	offered []string // prefixes of the name
}{
	{[]string{"gpt-oss"}, []string{"openrouter/openai/", "groq/openai/", "hosted_vllm/openai/"}},
	{[]string{"gpt-", "chatgpt-", "codex-", "o1", "o3", "o4-"}, []string{"openai/"}},
	{[]string{"claude-"}, []string{"anthropic/"}},
	{[]string{"gemini-"}, []string{"gemini/"}},
	{[]string{"grok-"}, []string{"xai/"}},
	{[]string{"deepseek"}, []string{"deepseek/", "openrouter/deepseek/", "hosted_vllm/deepseek-ai/"}},
	{[]string{"mistral", "devstral", "codestral", "magistral"}, []string{"mistral/", "openrouter/mistralai/", "hosted_vllm/mistralai/"}},
	{[]string{"qwen"}, []string{"dashscope/", "openrouter/qwen/", "hosted_vllm/Qwen/"}},
	{[]string{"kimi"}, []string{"moonshot/", "openrouter/moonshotai/", "hosted_vllm/moonshotai/"}},
	{[]string{"glm"}, []string{"zai/", "openrouter/z-ai/", "hosted_vllm/zai-org/"}},
	{[]string{"minimax"}, []string{"minimax/", "openrouter/minimax/", "hosted_vllm/MiniMaxAI/"}},
	{[]string{"llama"}, []string{"openrouter/meta-llama/", "groq/", "hosted_vllm/meta-llama/"}},
}

// offers returns the full names that a name without a provider may mean.
func offers(name string) (models []string) {
	for _, f := range families {
		if slices.ContainsFunc(f.marks, func(m string) bool { return strings.HasPrefix(strings.ToLower(name), m) }) {
			for _, o := range f.offered {
				if provider, _, _ := strings.Cut(o, "/"); slices.Contains(providerNames(), provider) {
					models = append(models, o+name)
				}
			}
			return models
		}
	}
	return nil
}

// providerOf returns the only provider of a model whose name has no provider; empty if there is not exactly
// one.
func providerOf(name string) string {
	if all := offers(name); len(all) == 1 && !slices.Contains(providerNames(), name) {
		provider, _, _ := strings.Cut(all[0], "/")
		return provider
	}
	return ""
}

// aliases are other names of providers.
var aliases = map[string]string{
	"claude": "anthropic", "google": "gemini", "google_ai_studio": "gemini", "together": "together_ai", "fireworks": "fireworks_ai",
	"mistralai": "mistral", "z-ai": "zai", "moonshotai": "moonshot", "qwen": "dashscope", "azure_openai": "azure", "litellm": "litellm_proxy",
	"x-ai": "xai", "grok": "xai", "deepseek-ai": "deepseek",
}

// proxied lists LiteLLM's providers whose requests are signed with an account of a cloud. batch has no client
// for them; LiteLLM's proxy does.
var proxied = map[string]string{
	"bedrock": "Amazon Bedrock", "bedrock_converse": "Amazon Bedrock", "sagemaker": "Amazon SageMaker", "sagemaker_chat": "Amazon SageMaker",
	"vertex_ai": "Google's Vertex AI", "vertex_ai_beta": "Google's Vertex AI",
}

// unknownProvider returns the refusal of a provider that is not in the table, with a suggestion.
func unknownProvider(s Config, provider, name string) error {
	first := providers[0]
	err := fault.Newf(fault.Usage, "model %q: unknown provider %q", s.Model, provider)
	if s.Provider == "" && !strings.Contains(s.Model, "/") {
		err = fault.Newf(fault.Usage, "model %q: no provider is named", s.Model)
		if candidates := offers(s.Model); len(candidates) > 0 {
			return err.WithHint("several offer it, maybe under a longer name: `-m %s`", list(candidates, "or"))
		}
	}
	if cloud := proxied[strings.ToLower(provider)]; cloud != "" {
		return fault.Newf(fault.Usage, "model %q: batch has no client for %s", s.Model, cloud).
			WithHint("run LiteLLM's proxy, which has one, and ask it by the name in its config: `export LITELLM_PROXY_API_BASE=URL` and `-m litellm_proxy/%s`", name)
	}
	meant := aliases[strings.ToLower(provider)]
	if !slices.Contains(providerNames(), meant) {
		meant = near.Name(provider, providerNames())
	}
	if s.Provider == "" && meant != "" {
		return err.WithHint("did you mean `-m %s`?\n%s", strings.TrimSuffix(meant+"/"+name, "/"), known())
	}
	return err.WithHint("%s\na server that speaks OpenAI's protocol needs `export %s=URL` and `-m %s/%s`",
		known(), first.Base, first.Name, s.Model)
}

// noScript returns the refusal of a script's name that is neither built in nor a file.
func noScript(s Config, path string) error {
	names, dir := []string{demoScript, hastyScript}, filepath.Dir(path)
	entries, _ := os.ReadDir(s.path(dir)) // the hint is only poorer without
	for _, e := range entries {
		names = append(names, filepath.Join(dir, e.Name()))
	}
	best := near.Name(path, names)
	if best != "" {
		best = "`-m scripted/" + best + "`"
	}
	return fault.Newf(fault.Usage, "model %q: there is no file %s, and no built-in script of this name", "scripted/"+path, path).
		WithHint("%s", near.Hint(best, "scripted/"+demoScript+" and scripted/"+hastyScript+" are built in; scripted/PATH plays a file of replies or a folder of trajectories"))
}

// known lists the available models.
func known() string {
	return "models are " + list(Names(), "and") + ";\nalso " + list(names(true), "and")
}

func providerNames() []string {
	var names []string
	for _, p := range providers {
		names = append(names, p.Name)
	}
	return names
}
