package catalogue

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
)

// vendor is somebody whose models batch reaches at an endpoint that speaks OpenAI's
// protocol.
type vendor struct {
	name  string
	names []string // before the slash of a model's name, as LiteLLM has them
	marks []string // how the names of its models begin
	base  string   // its endpoint
	own   bool     // it has another protocol besides, which batch does not speak
}

var vendors = []vendor{
	{name: "OpenAI", names: []string{"openai"}, marks: []string{"gpt-", "chatgpt-", "codex-", "o1", "o3", "o4"}},
	{name: "Anthropic", names: []string{"anthropic", "claude"}, marks: []string{"claude"}, base: "https://api.anthropic.com/v1", own: true},
	{
		name: "Gemini", names: []string{"gemini", "google"}, marks: []string{"gemini"},
		base: "https://generativelanguage.googleapis.com/v1beta/openai", own: true,
	},
	{name: "OpenRouter", names: []string{"openrouter"}, base: "https://openrouter.ai/api/v1"},
	{name: "DeepSeek", names: []string{"deepseek"}, marks: []string{"deepseek"}, base: "https://api.deepseek.com/v1"},
	{name: "Mistral", names: []string{"mistral", "mistralai"}, marks: []string{"mistral", "devstral", "codestral"}, base: "https://api.mistral.ai/v1"},
	{name: "xAI", names: []string{"xai"}, marks: []string{"grok"}, base: "https://api.x.ai/v1"},
	{name: "Groq", names: []string{"groq"}, base: "https://api.groq.com/openai/v1"},
	{name: "Ollama", names: []string{"ollama", "ollama_chat"}, base: "http://localhost:11434/v1"},
	{name: "vLLM", names: []string{"vllm", "hosted_vllm"}, base: "http://localhost:8000/v1"},
}

// vendorOf returns whose model a provider and name mean, and the name that the vendor
// itself uses.
func vendorOf(provider, name string) (v vendor, model string, ok bool) {
	bare := name == ""
	if bare {
		name = provider
	}
	for _, v := range vendors {
		if !bare && slices.Contains(v.names, strings.ToLower(provider)) ||
			bare && slices.ContainsFunc(v.marks, func(m string) bool { return strings.HasPrefix(strings.ToLower(name), m) }) {
			return v, name, true
		}
	}
	return vendor{}, "", false
}

// unknownProvider refuses a model whose provider is not in the table, and says what was
// probably meant.
func unknownProvider(s Settings, provider, name string) error {
	first := providers[0]
	err := fault.Newf(fault.Usage, "model %q: unknown provider %q", s.Model, provider)
	if s.Provider == "" && !strings.Contains(s.Model, "/") {
		err = fault.Newf(fault.Usage, "model %q: no provider is named", s.Model)
	}
	if s.Provider == "" {
		if n := near.Name(provider, providerNames()); n != "" {
			return err.WithHint("did you mean `-m %s`?\n%s", strings.TrimSuffix(n+"/"+name, "/"), known())
		}
	}
	v, model, found := vendorOf(provider, name)
	switch {
	case !found:
		return err.WithHint("%s\na server that speaks OpenAI's protocol needs `export %s=URL` and `-m %s/%s`",
			known(), first.Base, first.Name, s.Model)
	case v.base == "":
		return err.WithHint("did you mean `-m %s/%s`?\n%s", first.Name, model, known())
	}
	how := v.name + " is reached through its endpoint that speaks OpenAI's protocol"
	if v.own {
		err = fault.Newf(fault.Usage, "model %q: batch does not speak %s's own protocol yet", s.Model, v.name)
		how = "use an endpoint that speaks OpenAI's protocol: a proxy, a router or " + v.name + "'s own"
	}
	return err.WithHint("%s:\n  export %s=%s %s=...\n  -m %s/%s", how, first.Base, v.base, first.Key, first.Name, model)
}

// noScript refuses the name of a script that is neither built in nor a file.
func noScript(path string) error {
	names, dir := []string{demoScript}, filepath.Dir(path)
	entries, _ := os.ReadDir(dir) // the hint is only poorer without
	for _, e := range entries {
		names = append(names, filepath.Join(dir, e.Name()))
	}
	best := near.Name(path, names)
	if best != "" {
		best = "`-m scripted/" + best + "`"
	}
	return fault.Newf(fault.Usage, "model %q: there is no file %s, and no built-in script of this name", "scripted/"+path, path).
		WithHint("%s", near.Hint(best, "scripted/"+demoScript+" is the built-in script; scripted/PATH plays a file of replies or a folder of trajectories"))
}

// known lists the models that there are.
func known() string { return "models are " + list(Names(), "and") }

func providerNames() []string {
	var names []string
	for _, p := range providers {
		names = append(names, p.Name)
	}
	return names
}
