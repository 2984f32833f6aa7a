package price

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// registrySample is the entry that documents the registry's own form.
const registrySample = "sample_spec"

// Load reads LiteLLM's model registry form: a JSON object of model name to an object
// with
//
//   - input_cost_per_token and output_cost_per_token;
//   - cache_read_input_token_cost (else such input costs as much as other input),
//     cache_creation_input_token_cost (likewise), and
//     cache_creation_input_token_cost_above_1hr for a cache that is kept for an hour;
//   - each of them with _above_200k_tokens behind it, or another length, for calls
//     with more input than that; or all of them in tiered_pricing, by range;
//   - each of them with _flex, _priority or _batches behind it, for that service tier.
//     It is read where it says what everything costs that has a price of its own in
//     the standard tier;
//   - litellm_provider, max_input_tokens and max_output_tokens.
//
// Prices other than per token of text are not read. A model that is charged by the
// request too, or otherwise for reasoning than for other output, is as one without a
// price. Errors are Usage faults that name the model and the field.
func Load(r io.Reader) (Table, error) {
	var entries map[string]json.RawMessage
	if err := json.NewDecoder(r).Decode(&entries); err != nil {
		return nil, fault.New(fault.Usage, "reading model prices", err).
			WithHint("expected a JSON object in the form of LiteLLM's model registry")
	}
	models := make(Table, len(entries))
	for name, raw := range entries {
		if name == registrySample {
			continue
		}
		m, err := readEntry(raw)
		if err != nil {
			return nil, fault.New(fault.Usage, fmt.Sprintf("reading the price of model %q", name), err)
		}
		if m.Price != nil || m.Window > 0 {
			models[name] = m
		}
	}
	return models, nil
}

// Names of an entry's members that we read.
const (
	inputCost      = "input_cost_per_token"
	outputCost     = "output_cost_per_token"
	cacheReadCost  = "cache_read_input_token_cost"
	cacheHitCost   = "input_cost_per_token_cache_hit" // older name of the same
	cacheWriteCost = "cache_creation_input_token_cost"
	cacheHourCost  = "cache_creation_input_token_cost_above_1hr"
	reasoningCost  = "output_cost_per_reasoning_token"
	requestCost    = "input_cost_per_request"
	tieredPricing  = "tiered_pricing"
)

// services are the endings of what the members are called for a service.
var services = map[string]string{"flex": "_flex", "priority": "_priority", "batch": "_batches"}

// registryEntry is an entry of LiteLLM's model registry
// (model_prices_and_context_window.json).
type registryEntry map[string]json.RawMessage

func readEntry(raw json.RawMessage) (Model, error) {
	var e registryEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return Model{}, err
	}
	m := Model{Own: true}
	if set(e["litellm_provider"]) {
		if err := json.Unmarshal(e["litellm_provider"], &m.Provider); err != nil {
			return m, fmt.Errorf("litellm_provider: %w", err)
		}
		m.Provider = providerName(m.Provider)
	}
	var errs [3]error
	m.Window, errs[0] = e.tokens("max_input_tokens")
	m.Output, errs[1] = e.tokens("max_output_tokens")
	m.Price, errs[2] = e.price()
	return m, errors.Join(errs[:]...)
}

// providerName returns a provider's name as models have it. LiteLLM has several for
// some, one for each protocol.
func providerName(litellm string) string {
	switch name, _, _ := strings.Cut(litellm, "-"); name {
	case "vertex_ai", "fireworks_ai":
		return name
	}
	if strings.HasPrefix(litellm, "bedrock") {
		return "bedrock"
	}
	return strings.TrimPrefix(litellm, "text-completion-")
}

func set(raw json.RawMessage) bool { return raw != nil && string(raw) != "null" }

// tokens reads a member that counts tokens. Some are in quotes.
func (e registryEntry) tokens(name string) (int64, error) {
	raw := bytes.Trim(e[name], `"`)
	if !set(e[name]) || len(raw) == 0 {
		return 0, nil
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 0 || n > 1e12 {
		return 0, fmt.Errorf("%s: %s is not a number of tokens", name, e[name])
	}
	return int64(n), nil
}

// price returns nil where the entry does not say what every token costs.
func (e registryEntry) price() (*vocab.Price, error) {
	if otherwise, err := e.charges(); err != nil || otherwise {
		return nil, err
	}
	if set(e[tieredPricing]) && !set(e[inputCost]) {
		return e.ranges()
	}
	p, ok, err := e.service("")
	if err != nil || !ok {
		return nil, err
	}
	for name, ending := range services {
		s, ok, err := e.service(ending)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if p.Services == nil {
			p.Services = map[string]vocab.Price{}
		}
		p.Services[name] = s
	}
	return &p, nil
}

// charges reports whether calls cost more than their tokens do, or some tokens of a
// reply cost more than the others.
func (e registryEntry) charges() (otherwise bool, err error) {
	request, err := e.exact(requestCost)
	if err != nil {
		return false, err
	}
	reasoning, err := e.exact(reasoningCost)
	if err != nil {
		return false, err
	}
	output, err := e.exact(outputCost)
	if err != nil {
		return false, err
	}
	return request != nil && *request > 0 || reasoning != nil && output != nil && *reasoning != *output, nil
}

// ranges reads tiered_pricing: what every token costs in a call whose input is in a range.
func (e registryEntry) ranges() (*vocab.Price, error) {
	var ranges []registryEntry
	if err := json.Unmarshal(e[tieredPricing], &ranges); err != nil {
		return nil, fmt.Errorf("%s: %w", tieredPricing, err)
	}
	var p vocab.Price
	for i, r := range ranges {
		otherwise, err := r.charges()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tieredPricing, err)
		}
		rates, ok, err := r.rates("", "")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tieredPricing, err)
		}
		if !ok || otherwise || !set(r["range"]) {
			return nil, nil
		}
		var limits []float64
		if err := json.Unmarshal(r["range"], &limits); err != nil || len(limits) == 0 || limits[0] < 0 || limits[0] > 1e12 {
			return nil, fmt.Errorf("%s: range: %s is not two numbers of tokens", tieredPricing, r["range"])
		}
		if (i == 0) != (limits[0] == 0) {
			return nil, nil
		}
		if i == 0 {
			p.Rates = rates
		} else {
			p.Tiers = append(p.Tiers, vocab.Tier{Above: int64(limits[0]), Rates: rates})
		}
	}
	if len(ranges) == 0 {
		return nil, nil
	}
	sortTiers(p.Tiers)
	return &p, nil
}

func sortTiers(tiers []vocab.Tier) {
	slices.SortFunc(tiers, func(a, b vocab.Tier) int { return cmp.Compare(a.Above, b.Above) })
}

// service returns the price of a service, "" for the standard one, and false where the
// entry does not say what everything costs.
func (e registryEntry) service(ending string) (p vocab.Price, ok bool, err error) {
	if p.Rates, ok, err = e.rates("", ending); err != nil || !ok {
		return p, false, err
	}
	for name := range e {
		above, isTier := strings.CutPrefix(name, inputCost+"_above_")
		above, isService := strings.CutSuffix(above, ending)
		thousands, isTokens := strings.CutSuffix(above, "k_tokens")
		n, err := strconv.ParseInt(thousands, 10, 32)
		if !isTier || !isService || !isTokens || err != nil || !set(e[name]) {
			continue
		}
		rates, ok, err := e.rates("_above_"+above, ending)
		if err != nil {
			return p, false, err
		}
		if ok {
			p.Tiers = append(p.Tiers, vocab.Tier{Above: n * 1000, Rates: rates})
		}
	}
	sortTiers(p.Tiers)
	return p, true, nil
}

// rates returns what a token costs in calls of a length ("_above_200k_tokens", or "") by a
// service. What is not said of a length is as for all of the standard service; of another
// service everything must be said.
func (e registryEntry) rates(length, service string) (r vocab.Rates, ok bool, err error) {
	input, err := e.rate(inputCost, length, service)
	if err != nil {
		return r, false, err
	}
	output, err := e.rate(outputCost, length, service)
	if err != nil || input == nil || output == nil {
		return r, false, err
	}
	r = vocab.Rates{Input: *input, CachedInput: *input, Output: *output}
	hit, err := e.rate(cacheHitCost, length, service)
	if err != nil {
		return r, false, err
	}
	read, err := e.rate(cacheReadCost, length, service)
	if err != nil {
		return r, false, err
	}
	write, err := e.rate(cacheWriteCost, length, service)
	if err != nil {
		return r, false, err
	}
	hour, err := e.exact(cacheHourCost + length + service)
	if err != nil {
		return r, false, err
	}
	if read = cmp.Or(read, hit); read != nil {
		r.CachedInput = *read
	} else if service != "" && (set(e[cacheReadCost]) || set(e[cacheHitCost])) {
		return r, false, nil
	}
	if write != nil {
		r.CacheWrite = *write
	} else if service != "" && set(e[cacheWriteCost]) {
		return r, false, nil
	}
	if hour != nil {
		r.CacheHour = *hour
	}
	return r, true, nil
}

// rate reads the price of one kind of token.
func (e registryEntry) rate(name, length, service string) (*float64, error) {
	rate, err := e.exact(name + length + service)
	if rate == nil && err == nil && length != "" && service == "" {
		return e.exact(name)
	}
	return rate, err
}

func (e registryEntry) exact(name string) (*float64, error) {
	if !set(e[name]) {
		return nil, nil
	}
	var rate float64
	if err := json.Unmarshal(e[name], &rate); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if rate < 0 {
		return nil, fmt.Errorf("%s is negative: %v", name, rate)
	}
	return &rate, nil
}
