// Package price computes the cost of model calls from built-in prices and from a registry in LiteLLM's form,
// and knows the context lengths of these models. It promises that a model without a known price is treated
// neither like another model nor as free.
//
// Its API is not promised to other programs: see package batch.
package price

import (
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/vocab"
)

// Table maps LiteLLM's names of models to their entries: with the provider before a slash
// ("anthropic/claude-opus-4-5", "groq/openai/gpt-oss-120b") or without. Reading it from several goroutines is
// safe.
type Table map[string]Model

// Model is the table's entry for a model.
type Model struct {
	Price    *vocab.Price // nil if unknown
	Provider string       // the prefix of the model's name; "" if unknown
	Window   int64        // length of its context in tokens; 0 if unknown
	Output   int64        // most tokens of a reply; 0 if unknown
	Vision   *bool        // it takes images; nil if unknown

	Own bool // the entry is from the user's registry
	// Refused says why a price in the user's registry is not used; "" if it is, or there is none.
	Refused string
	Source  string // where the price was read; "" in a registry
	Date    string // when, 2006-01-02
	Until   string // last day on which the price is valid; "" if unknown
}

// Find returns the entry of a model. Names are the names by which it may be listed, in order of preference;
// each is looked up as described at [Table.Lookup]. A user's own entry for any of the names comes first.
func (t Table) Find(names ...string) (Model, bool) {
	for _, name := range names {
		if m, ok := t.named(name); ok && m.Own {
			return m, true
		}
	}
	for _, name := range names {
		if m, ok := t.named(name); ok {
			return m, true
		}
		if base := undated(name); base != name {
			if m, ok := t.named(base); ok {
				return m, true
			}
		}
	}
	return Model{}, false
}

// Lookup finds the price of a model, which should be named with its provider. The price is the one listed:
//   - under its exact name;
//   - without the provider, if the entry does not name another provider. The same
//     applies after openrouter/, azure/, litellm_proxy/ and openai/ (which may be any
//     server of that protocol) for the models of OpenAI, Anthropic, Google and xAI,
//     which cost the same there;
//   - with its maker before it, if it has no provider and only one maker has it;
//   - without the date of its snapshot ("x-2025-08-07", "x-20250807", "x@20250807",
//     "x@default").
//
// A variant marked by a colon (":free") or by "-latest" has only a price listed under its full name.
func (t Table) Lookup(names ...string) (vocab.Price, bool) {
	m, ok := t.Find(names...)
	if !ok || m.Price == nil {
		return vocab.Price{}, false
	}
	return *m.Price, true
}

// Window returns the length of a model's context in tokens, and false if it is unknown. Names are as for
// [Table.Find].
func (t Table) Window(names ...string) (int64, bool) {
	m, _ := t.Find(names...)
	return m.Window, m.Window > 0
}

// Cost returns the cost of a call in US dollars, and false if it is unknown, see [vocab.Price.Cost]. Names
// are as for [Table.Find].
func (t Table) Cost(u vocab.Usage, service string, names ...string) (float64, bool) {
	price, ok := t.Lookup(names...)
	if !ok {
		return 0, false
	}
	return price.Cost(u, service)
}

// With returns the union of both tables. Values of more win, also if it lists the model under another name;
// all others stay.
func (t Table) With(more Table) Table {
	union := make(Table, len(t)+len(more))
	for name, m := range t {
		if own, ok := more.named(name); ok {
			m = m.with(name, own)
		}
		union[name] = m
	}
	for name, own := range more {
		if m, ok := t.named(name); ok {
			own = m.with(name, own)
		}
		union[name] = own
	}
	return union
}

// with returns own by this name, completed from m. A price without a provider in the entry or its name
// applies to any provider.
func (m Model) with(name string, own Model) Model {
	if own.Provider == "" && (own.Price == nil || strings.HasPrefix(name, m.Provider+"/")) {
		own.Provider = m.Provider
	}
	if own.Price == nil && own.Refused == "" {
		own.Price, own.Source, own.Date, own.Until = m.Price, m.Source, m.Date, m.Until
	}
	if own.Window == 0 {
		own.Window = m.Window
	}
	if own.Output == 0 {
		own.Output = m.Output
	}
	return own
}

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
