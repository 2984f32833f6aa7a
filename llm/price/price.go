// Package price computes the cost of model calls, with built-in prices and those of a
// registry in LiteLLM's form. It promises that a model without a known price is treated
// neither as another model nor as free.
package price

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// Table maps model names to their price. Reading it from several goroutines is safe.
type Table map[string]vocab.Price

// registrySample is the entry that documents the registry's own form.
const registrySample = "sample_spec"

// Load reads LiteLLM's model registry form: a JSON object of model name
// to an object with input_cost_per_token, output_cost_per_token and, optionally,
// cache_read_input_token_cost and cache_creation_input_token_cost (else such
// input costs as much as other input). Each of them with _above_200k_tokens
// behind it, or another length, is for calls with more input than that. Entries
// that are not priced per token are skipped; what other service tiers and longer
// times in the cache cost is not read. Errors are Usage faults that name the
// model and the field.
func Load(r io.Reader) (Table, error) {
	var entries map[string]json.RawMessage
	if err := json.NewDecoder(r).Decode(&entries); err != nil {
		return nil, fault.New(fault.Usage, "reading model prices", err).
			WithHint("expected a JSON object in the form of LiteLLM's model registry")
	}
	prices := make(Table, len(entries))
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
		return p, false, err
	}
	if p.Rates, ok, err = e.rates(); !ok || err != nil {
		return p, false, err
	}
	for name := range e {
		length, isTier := strings.CutPrefix(name, inputCost+"_above_")
		thousands, isTokens := strings.CutSuffix(length, "k_tokens")
		if n, err := strconv.ParseInt(thousands, 10, 32); isTier && isTokens && err == nil {
			rates, _, err := e.above("_above_" + length).rates()
			if err != nil {
				return p, false, err
			}
			p.Tiers = append(p.Tiers, vocab.Tier{Above: n * 1000, Rates: rates})
		}
	}
	slices.SortFunc(p.Tiers, func(a, b vocab.Tier) int { return cmp.Compare(a.Above, b.Above) })
	return p, true, nil
}

// Names of an entry's members that we read.
const (
	inputCost      = "input_cost_per_token"
	outputCost     = "output_cost_per_token"
	cacheReadCost  = "cache_read_input_token_cost"
	cacheHitCost   = "input_cost_per_token_cache_hit" // older name of the same
	cacheWriteCost = "cache_creation_input_token_cost"
)

// registryEntry is an entry of LiteLLM's model registry
// (model_prices_and_context_window.json).
type registryEntry map[string]json.RawMessage

// above returns the entry for calls of a certain length: what it does not say of
// them is as for all.
func (e registryEntry) above(length string) registryEntry {
	long := registryEntry{}
	for _, name := range []string{inputCost, outputCost, cacheReadCost, cacheHitCost, cacheWriteCost} {
		long[name] = e[name]
		if raw, ok := e[name+length]; ok && string(raw) != "null" {
			long[name] = raw
		}
	}
	return long
}

// rates returns what the entry says of a token, and false where it does not.
func (e registryEntry) rates() (r vocab.Rates, ok bool, err error) {
	var input, output, cached, written *float64
	for _, m := range []struct {
		name string
		into **float64
	}{{inputCost, &input}, {outputCost, &output}, {cacheHitCost, &cached}, {cacheReadCost, &cached}, {cacheWriteCost, &written}} {
		if raw := e[m.name]; raw == nil || string(raw) == "null" {
			continue
		} else if err := json.Unmarshal(raw, m.into); err != nil {
			return r, false, fmt.Errorf("%s: %w", m.name, err)
		}
		if **m.into < 0 {
			return r, false, fmt.Errorf("%s is negative: %v", m.name, **m.into)
		}
	}
	if input == nil || output == nil {
		return r, false, nil
	}
	r = vocab.Rates{Input: *input, CachedInput: *input, Output: *output}
	if cached != nil {
		r.CachedInput = *cached
	}
	if written != nil {
		r.CacheWrite = *written
	}
	return r, true, nil
}

// Cost returns what a call cost in US dollars, and false when the model's
// price is not known. See [Table.Lookup] for how the model is found.
func (p Table) Cost(model string, u vocab.Usage) (float64, bool) {
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
func (p Table) Lookup(model string) (vocab.Price, bool) {
	if price, ok := p.lookupUndated(model); ok {
		return price, true
	}
	if base := dated.ReplaceAllString(model, ""); base != model {
		return p.lookupUndated(base)
	}
	return vocab.Price{}, false
}

func (p Table) lookupUndated(model string) (vocab.Price, bool) {
	for name, more := model, true; more; _, name, more = strings.Cut(name, "/") {
		if price, ok := p[name]; ok {
			return price, true
		}
	}
	price, ok := p["openai/"+model]
	return price, ok
}

// With returns the union of both; where both price a model, more wins.
func (p Table) With(more Table) Table {
	union := make(Table, len(p)+len(more))
	for _, prices := range []Table{p, more} {
		for name, price := range prices {
			union[name] = price
		}
	}
	return union
}
