package price

import (
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// makers offer their own models. No two makers' models have the same name.
var makers = []string{
	"openai", "anthropic", "gemini", "deepseek", "mistral", "xai", "moonshot", "dashscope", "zai", "minimax",
}

// resold maps OpenRouter's and LiteLLM's names for makers whose models cost the same elsewhere.
var resold = map[string]string{
	"openai": "openai", "anthropic": "anthropic", "google": "gemini", "gemini": "gemini", "x-ai": "xai", "xai": "xai",
}

// dated matches the snapshot date at the end of a model's name.
var dated = lazy.Regexp(`(?:[-@](?:20\d\d-\d\d-\d\d|20\d{6})|@default)$`)

func undated(name string) string { return dated().ReplaceAllString(name, "") }

// named finds a model by its full name, dates included.
func (t Table) named(name string) (Model, bool) {
	if m, ok := t[name]; ok {
		return m, true
	}
	provider, rest, found := strings.Cut(name, "/")
	if !found {
		return t.made(name)
	}
	if provider == "bedrock" { // LiteLLM's names for APIs
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, "converse/"), "invoke/")
		if m, ok := t["bedrock/"+rest]; ok {
			return m, true
		}
	}
	if m, ok := t[rest]; ok && m.offeredBy(provider) {
		return m, true
	}
	switch provider {
	case "openai":
		if !strings.Contains(rest, "/") {
			return t.made(rest)
		}
		return t.resold(rest)
	case "openrouter", "litellm_proxy":
		return t.resold(rest)
	case "azure":
		return t.resold("openai/" + rest)
	}
	return Model{}, false
}

// made finds a model of which only one maker has this name.
func (t Table) made(name string) (found Model, ok bool) {
	for _, maker := range makers {
		if m, has := t[maker+"/"+name]; has {
			if ok {
				return Model{}, false
			}
			found, ok = m, true
		}
	}
	return found, ok
}

// resold finds a model that a reseller sells at its maker's price.
func (t Table) resold(name string) (Model, bool) {
	by, name, _ := strings.Cut(name, "/")
	maker := resold[by]
	if maker == "" || name == "" {
		return Model{}, false
	}
	if maker == "anthropic" {
		name = strings.ReplaceAll(name, ".", "-") // OpenRouter has claude-sonnet-4.5
	}
	if m, ok := t[maker+"/"+name]; ok {
		return m, true
	}
	m, ok := t[name]
	return m, ok && m.offeredBy(maker)
}

// offeredBy reports whether an entry that is listed without its provider belongs to this provider. The prefix
// openai/ may stand for any server of that protocol.
func (m Model) offeredBy(provider string) bool {
	return m.Provider == "" || m.Provider == provider || provider == "openai" && slices.Contains(makers, m.Provider)
}
