// Package price computes the cost of model calls, with built-in prices and prices of a
// registry in LiteLLM's form, and says how long the contexts of these models are. It
// promises that a model without a known price is treated neither as another model nor
// as free.
package price

import (
	"strings"

	"batch.example/batch/vocab"
)

// Table holds what is known of models, by the names that LiteLLM gives them: with
// the provider before a slash ("anthropic/claude-opus-4-5", "groq/openai/gpt-oss-120b")
// or without. Reading it from several goroutines is safe.
type Table map[string]Model

// Model holds what the table has on a model.
type Model struct {
	Price    *vocab.Price // nil if that is not known
	Provider string       // as a model's name begins; "" if that is not known
	Window   int64        // tokens of context that it can read; 0 if that is not known
	Output   int64        // most tokens of a reply; 0 if that is not known

	Own bool // from the user's registry
	// Refused says why a price in the user's registry is not used; "" if it is, or there is none.
	Refused string
	Source  string // where the price was read; "" in a registry
	Date    string // when, 2006-01-02
	Until   string // last day on which the price is valid; "" if that is not known
}

// Find returns the entry of a model. Names are the names by which it may be listed,
// the best first; each is looked up as [Table.Lookup] says. An entry of the user's own
// for any of the names comes first.
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

// Lookup finds the price of a model, which is better named with its provider. It has
// the price that is listed:
//   - under its exact name;
//   - without the provider, if the entry does not name another provider. The same
//     holds behind openrouter/, azure/, litellm_proxy/ and openai/ (which may be any
//     server of that protocol) for the models of OpenAI, Anthropic, Google and xAI,
//     which cost the same there;
//   - with its maker before it, if it has no provider and only one maker has it;
//   - without the date of its snapshot ("x-2025-08-07", "x-20250807", "x@20250807",
//     "x@default").
//
// A variant marked by a colon (":free") or by "-latest" has only the price listed for
// it by name.
func (t Table) Lookup(names ...string) (vocab.Price, bool) {
	m, ok := t.Find(names...)
	if !ok || m.Price == nil {
		return vocab.Price{}, false
	}
	return *m.Price, true
}

// Window returns how many tokens of context a model can read, and false when that is
// not known. Names are as for [Table.Find].
func (t Table) Window(names ...string) (int64, bool) {
	m, _ := t.Find(names...)
	return m.Window, m.Window > 0
}

// Cost returns what a call cost in US dollars, and false when that is not known, see
// [vocab.Price.Cost]. Names are as for [Table.Find].
func (t Table) Cost(u vocab.Usage, service string, names ...string) (float64, bool) {
	price, ok := t.Lookup(names...)
	if !ok {
		return 0, false
	}
	return price.Cost(u, service)
}

// With returns the union of both. What more says of a model wins, also where it
// calls the model otherwise; what it does not say stays.
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

// with returns own by this name, and of m what it does not say. A price without a provider
// in it or in its name is valid for any provider.
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
