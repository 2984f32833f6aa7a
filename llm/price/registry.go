package price

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/vocab"
)

// registrySample is the entry that documents the registry's own form.
const registrySample = "sample_spec"

// Load reads the form of LiteLLM's model registry: a JSON object that maps a model's name to an
// object with
//
//   - input_cost_per_token and output_cost_per_token;
//   - cache_read_input_token_cost and cache_creation_input_token_cost (the default of both is the
//     price of other input), and cache_creation_input_token_cost_above_1hr for a cache that is kept
//     for an hour;
//   - each of them with the suffix _above_200k_tokens, _above_32000_tokens or another length, for
//     calls with more input; or in tiered_pricing, by range, which replaces a price without a suffix;
//   - each of them with the suffix _flex, _priority or _batches, for that service tier. A tier counts
//     only if it has all the prices that the standard tier has;
//   - litellm_provider, max_input_tokens, max_output_tokens and supports_vision.
//
// An explicit 0 is a price of 0. Only prices per token of text are read. A model counts as one without a
// price if requests cost too, if reasoning and other output have different prices, or if a member about
// prices is not understood: see [Model.Refused]. Errors are Usage faults that name the model and the field.
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
		if m.Price != nil || m.Window > 0 || m.Refused != "" || m.Vision != nil {
			models[name] = m
		}
	}
	return models, nil
}

// Names of the members of an entry that are read.
const (
	inputCost      = "input_cost_per_token"
	outputCost     = "output_cost_per_token"
	cacheReadCost  = "cache_read_input_token_cost"
	cacheHitCost   = "input_cost_per_token_cache_hit" // an older name of it
	cacheWriteCost = "cache_creation_input_token_cost"
	cacheHourCost  = "cache_creation_input_token_cost_above_1hr"
	reasoningCost  = "output_cost_per_reasoning_token"
	requestCost    = "input_cost_per_request"
	tieredPricing  = "tiered_pricing"
)

// services maps a service tier to the suffix of its members.
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
	m.Price, m.Refused, errs[2] = e.price()
	if set(e["supports_vision"]) {
		if err := json.Unmarshal(e["supports_vision"], &m.Vision); err != nil {
			return m, fmt.Errorf("supports_vision: %w", err)
		}
	}
	return m, errors.Join(errs[:]...)
}

// providerName returns a provider's name in the names of models. LiteLLM has several names for some
// providers, one for each protocol.
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

// tokens reads a member with a number of tokens, which may be in quotes.
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

// price returns nil and the reason if the entry does not have the price of every token, or has a member about
// prices that is not understood: the price must never be too low.
func (e registryEntry) price() (p *vocab.Price, why string, err error) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if set(e[name]) && isPrice(name) && !understood(name) {
			return nil, "its member " + name + " is not understood", nil
		}
	}
	if why, err := e.charges(); err != nil || why != "" {
		return nil, why, err
	}
	standard, ok, why, err := e.standard()
	if err != nil || !ok {
		return nil, why, err
	}
	for name, ending := range services {
		s, ok, err := e.service(ending)
		if err != nil {
			return nil, "", err
		}
		if !ok {
			continue
		}
		if standard.Services == nil {
			standard.Services = map[string]vocab.Price{}
		}
		standard.Services[name] = s
	}
	return &standard, "", nil
}

// tokenCosts are the names of members with a price per token of text.
var tokenCosts = []string{inputCost, outputCost, cacheReadCost, cacheHitCost, cacheWriteCost, reasoningCost}

// prices matches the names of members about prices.
var prices = lazy.Regexp(`cost|pric`)

// otherCosts matches members that do not concern an agent's calls: other media, tools of the provider,
// fine-tuning, and prices in another unit next to those per token.
var otherCosts = lazy.Regexp(`character|image|audio|video|second|minute|hour_of|per_hour|pixel|quer(y|ies)|page|session|_gb|dbu_cost|db_cost|1k_calls|1k_tokens|search|ocr|annotation|training|per_request_`)

// isPrice reports whether a member concerns the cost of an agent's calls.
func isPrice(name string) bool {
	of := func(cost string) bool { return strings.HasPrefix(name, cost) }
	return prices().MatchString(name) && (!otherCosts().MatchString(name) || slices.ContainsFunc(tokenCosts, of))
}

// modifier matches the suffix of a cost's name: how long a cache is kept, the length of a call, and the
// service.
var modifier = lazy.Regexp(`^(_above_1hr)?(?:_above_(\d+)(k?)_tokens)?(_flex|_priority|_batches)?$`)

func understood(name string) bool {
	if name == tieredPricing || name == requestCost {
		return true
	}
	return slices.ContainsFunc(tokenCosts, func(cost string) bool {
		rest, ok := strings.CutPrefix(name, cost)
		m := modifier().FindStringSubmatch(rest)
		return ok && m != nil && (m[1] == "" || cost == cacheWriteCost)
	})
}

// charges returns why tokens alone do not determine the cost of a call, or why some tokens of a reply cost
// more than others; "" if neither is the case.
func (e registryEntry) charges() (why string, err error) {
	request, err := e.exact(requestCost)
	if err != nil {
		return "", err
	}
	if request != nil && *request > 0 {
		return "requests cost too (" + requestCost + ")", nil
	}
	output, err := e.exact(outputCost)
	if err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if !strings.HasPrefix(name, reasoningCost) {
			continue
		}
		reasoning, err := e.exact(name)
		if err != nil {
			return "", err
		}
		of, err := e.exact(outputCost + strings.TrimPrefix(name, reasoningCost))
		if err != nil {
			return "", err
		}
		if of == nil {
			of = output
		}
		if reasoning != nil && of != nil && *reasoning != *of {
			return "reasoning has a price of its own (" + name + ")", nil
		}
	}
	return "", nil
}

// standard returns the price of the standard service: by ranges if the entry has them, otherwise by lengths.
func (e registryEntry) standard() (p vocab.Price, ok bool, why string, err error) {
	if set(e[tieredPricing]) {
		return e.ranges()
	}
	p, ok, err = e.service("")
	return p, ok, "", err
}

// ranges reads tiered_pricing: the price of every token of a call depends on the range of its input. A range
// inherits missing prices from its entry.
func (e registryEntry) ranges() (p vocab.Price, ok bool, why string, err error) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		for _, cost := range tokenCosts {
			if above, _, ok := modified(name, cost, true); ok && above > 0 && set(e[name]) {
				return p, false, "it has both " + tieredPricing + " and " + name, nil
			}
		}
	}
	var ranges []registryEntry
	if err := json.Unmarshal(e[tieredPricing], &ranges); err != nil {
		return p, false, "", fmt.Errorf("%s: %w", tieredPricing, err)
	}
	for i, r := range ranges {
		whole := registryEntry{}
		for _, cost := range append([]string{cacheHourCost}, tokenCosts...) {
			if set(e[cost]) {
				whole[cost] = e[cost]
			}
		}
		maps.Copy(whole, r)
		for _, name := range slices.Sorted(maps.Keys(r)) {
			if isPrice(name) && !slices.Contains(tokenCosts, name) && name != cacheHourCost {
				return p, false, tieredPricing + ": " + name + " is not understood", nil
			}
		}
		why, err := whole.charges()
		if err != nil || why != "" {
			return p, false, why, wrapped(tieredPricing, err)
		}
		rates, ok, err := whole.rates(0, "")
		if err != nil || !ok {
			return p, false, tieredPricing + ": a range has no price", wrapped(tieredPricing, err)
		}
		var limits []float64
		if err := json.Unmarshal(r["range"], &limits); err != nil || len(limits) == 0 || limits[0] < 0 || limits[0] > 1e12 {
			return p, false, "", fmt.Errorf("%s: range: %s is not two numbers of tokens", tieredPricing, cmp.Or(string(r["range"]), "nothing"))
		}
		if (i == 0) != (limits[0] == 0) {
			return p, false, tieredPricing + ": its first range does not begin at 0", nil
		}
		if i == 0 {
			p.Rates = rates
		} else {
			p.Tiers = append(p.Tiers, vocab.Tier{Above: int64(limits[0]), Rates: rates})
		}
	}
	sortTiers(p.Tiers)
	return p, len(ranges) > 0, "", nil
}

func wrapped(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func sortTiers(tiers []vocab.Tier) {
	slices.SortFunc(tiers, func(a, b vocab.Tier) int { return cmp.Compare(a.Above, b.Above) })
}

// service returns the price of a service, "" for the standard one, and false if the entry does not have all
// of its prices. The highest tier that the call exceeds sets the price, separately for each kind of token.
func (e registryEntry) service(ending string) (p vocab.Price, ok bool, err error) {
	if p.Rates, ok, err = e.rates(0, ending); err != nil || !ok {
		return p, false, err
	}
	for _, above := range e.lengths(ending) {
		rates, ok, err := e.rates(above, ending)
		if err != nil {
			return p, false, err
		}
		if !ok {
			return p, false, nil
		}
		p.Tiers = append(p.Tiers, vocab.Tier{Above: above, Rates: rates})
	}
	return p, true, nil
}

// lengths returns the lengths in tokens at which a price of a service changes, in order.
func (e registryEntry) lengths(service string) []int64 {
	var list []int64
	for member := range e {
		for _, cost := range tokenCosts {
			above, of, ok := modified(member, cost, true)
			if ok && of == service && above > 0 && set(e[member]) && !slices.Contains(list, above) {
				list = append(list, above)
			}
		}
	}
	slices.Sort(list)
	return list
}

// modified reads the end of a member's name after the name of a cost: the length of the calls, in tokens, and
// the service. Hour includes members about an hour's cache.
func modified(member, cost string, hour bool) (above int64, service string, ok bool) {
	rest, ok := strings.CutPrefix(member, cost)
	m := modifier().FindStringSubmatch(rest)
	if !ok || m == nil || m[1] != "" && !hour {
		return 0, "", false
	}
	if m[2] != "" {
		n, err := strconv.ParseInt(m[2], 10, 40)
		if err != nil {
			return 0, "", false
		}
		above = n
	}
	if m[3] != "" {
		above *= 1000
	}
	return above, m[4], true
}

// rates returns a service's prices for calls with more than above input tokens. A missing price is taken from
// the next lower tier; a service other than the standard one must name all of them.
func (e registryEntry) rates(above int64, service string) (r vocab.Rates, ok bool, err error) {
	var found [6]*float64
	for i, cost := range []string{inputCost, outputCost, cacheHitCost, cacheReadCost, cacheWriteCost, cacheHourCost} {
		if found[i], err = e.rate(cost, above, service); err != nil {
			return r, false, err
		}
	}
	input, output, read, write, hour := found[0], found[1], cmp.Or(found[3], found[2]), found[4], found[5]
	if input == nil || output == nil {
		return r, false, nil
	}
	r = vocab.Rates{Input: *input, CachedInput: *input, Output: *output}
	if read != nil {
		r.CachedInput = *read
	} else if service != "" && (set(e[cacheReadCost]) || set(e[cacheHitCost])) {
		return r, false, nil
	}
	if write != nil {
		r.CacheWrite, r.FreeWrite = *write, *write == 0
	} else if service != "" && set(e[cacheWriteCost]) {
		return r, false, nil
	}
	if hour != nil {
		r.CacheHour, r.FreeHour = *hour, *hour == 0
	}
	return r, true, nil
}

// rate returns the price of one kind of token: that of the greatest length up to above. Services other than
// the standard one, and an hour's cache, have a price only if it is listed for exactly this length.
func (e registryEntry) rate(cost string, above int64, service string) (*float64, error) {
	best := int64(-1)
	var found *float64
	for member := range e {
		n, of, ok := modified(member, cost, false)
		if !ok || of != service || n > above || n < best || !set(e[member]) {
			continue
		}
		rate, err := e.exact(member)
		if err != nil {
			return nil, err
		}
		if n > best || *rate > *found { // 200k and 200000 are the same length: take the higher price
			best, found = n, rate
		}
	}
	if best < above && (service != "" || cost == cacheHourCost) {
		return nil, nil
	}
	return found, nil
}

// mostPerToken is far above every price, and small enough that no sum of costs overflows.
const mostPerToken = 1e6

// exact reads a member, which may be a number in quotes.
func (e registryEntry) exact(name string) (*float64, error) {
	if !set(e[name]) {
		return nil, nil
	}
	text := string(e[name])
	var quoted string
	if json.Unmarshal(e[name], &quoted) == nil {
		text = strings.TrimSpace(quoted)
	}
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(rate) || math.IsInf(rate, 0) {
		return nil, fmt.Errorf("%s: %s is not a number of dollars", name, e[name])
	}
	if rate < 0 {
		return nil, fmt.Errorf("%s is negative: %v", name, rate)
	}
	if rate > mostPerToken {
		return nil, fmt.Errorf("%s: %v dollars for one token", name, rate)
	}
	return &rate, nil
}
