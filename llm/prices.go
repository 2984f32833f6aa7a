package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// Prices maps model names to their price. Reading it from several goroutines is safe.
type Prices map[string]vocab.Price

// registryEntry holds the members we need of an entry of LiteLLM's model
// registry (model_prices_and_context_window.json).
type registryEntry struct {
	Input  *float64 `json:"input_cost_per_token"`
	Cached *float64 `json:"cache_read_input_token_cost"`
	Hit    *float64 `json:"input_cost_per_token_cache_hit"` // older name of the same
	Output *float64 `json:"output_cost_per_token"`
}

// registrySample is the entry that documents the registry's own form.
const registrySample = "sample_spec"

// LoadPrices reads LiteLLM's model registry form: a JSON object of model name
// to an object with input_cost_per_token, output_cost_per_token and, optionally,
// cache_read_input_token_cost (else cached input costs as much as other input).
// Entries that are not priced per token are skipped; surcharges for long
// contexts (..._above_200k_tokens) and other tiers are not read. Errors are
// Usage faults that name the model and the field.
func LoadPrices(r io.Reader) (Prices, error) {
	var entries map[string]json.RawMessage
	if err := json.NewDecoder(r).Decode(&entries); err != nil {
		return nil, fault.New(fault.Usage, "reading model prices", err).
			WithHint("expected a JSON object in the form of LiteLLM's model registry")
	}
	prices := make(Prices, len(entries))
	for name, raw := range entries {
		price, ok, err := readPrice(raw)
		if err != nil {
			return nil, fault.New(fault.Usage, fmt.Sprintf("reading the price of model %q", name), err)
		}
		if ok && name != registrySample {
			prices[name] = price
		}
	}
	return prices, nil
}

func readPrice(raw json.RawMessage) (p vocab.Price, ok bool, err error) {
	var e registryEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return vocab.Price{}, false, err
	}
	if e.Input == nil || e.Output == nil {
		return vocab.Price{}, false, nil
	}
	p = vocab.Price{Input: *e.Input, CachedInput: *e.Input, Output: *e.Output}
	if e.Cached == nil {
		e.Cached = e.Hit
	}
	if e.Cached != nil {
		p.CachedInput = *e.Cached
	}
	if p.Input < 0 || p.CachedInput < 0 || p.Output < 0 {
		return vocab.Price{}, false, fmt.Errorf("a cost per token is negative: %+v", p)
	}
	return p, true, nil
}

// Cost returns what a call cost in US dollars, and false when the model's
// price is not known. See [Prices.Lookup] for how the model is found.
func (p Prices) Cost(model string, u vocab.Usage) (float64, bool) {
	price, ok := p.Lookup(model)
	if !ok {
		return 0, false
	}
	return price.Cost(u), true
}

// dated matches the snapshot date at the end of a model name.
var dated = regexp.MustCompile(`[-@](?:20\d\d-\d\d-\d\d|20\d{6})$`)

// Lookup finds the price of a model: under its exact name; else without its
// provider prefixes, cut one by one ("openrouter/openai/x", "openai/x", "x");
// else as "openai/x"; else the same again without the date of its snapshot
// ("x-2025-08-07", "x-20250807"). A variant marked by a colon (":free") has
// only the price listed for it by name.
func (p Prices) Lookup(model string) (vocab.Price, bool) {
	if price, ok := p.lookupUndated(model); ok {
		return price, true
	}
	if base := dated.ReplaceAllString(model, ""); base != model {
		return p.lookupUndated(base)
	}
	return vocab.Price{}, false
}

func (p Prices) lookupUndated(model string) (vocab.Price, bool) {
	for name, more := model, true; more; _, name, more = strings.Cut(name, "/") {
		if price, ok := p[name]; ok {
			return price, true
		}
	}
	price, ok := p["openai/"+model]
	return price, ok
}

// With returns the union of both; where both price a model, more wins.
func (p Prices) With(more Prices) Prices {
	union := make(Prices, len(p)+len(more))
	for _, prices := range []Prices{p, more} {
		for name, price := range prices {
			union[name] = price
		}
	}
	return union
}
