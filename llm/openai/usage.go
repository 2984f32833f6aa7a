package openai

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/vocab"
)

// litellmCost is the header in which a LiteLLM proxy names the cost of a call.
const litellmCost = "X-Litellm-Response-Cost"

// readUsage reads what it understands of an answer's usage and passes over the
// rest: the answer is paid for, and asking again would pay for it twice.
func readUsage(raw json.RawMessage) (u vocab.Usage, cost *float64) {
	usage := endpoint.Members(raw)
	u.Input, u.Output = tokens(usage["prompt_tokens"]), tokens(usage["completion_tokens"])
	prompt := endpoint.Members(usage["prompt_tokens_details"])
	u.Cached = tokens(prompt["cached_tokens"])
	u.CacheWrite = cmp.Or(tokens(prompt["cache_write_tokens"]), // OpenRouter
		tokens(prompt["cache_creation_tokens"]), tokens(usage["cache_creation_input_tokens"])) // LiteLLM
	u.Reasoning = tokens(endpoint.Members(usage["completion_tokens_details"])["reasoning_tokens"])
	if c, ok := amount(usage["cost"]); ok {
		cost = &c
	}
	return u, cost
}

func tokens(raw json.RawMessage) int64 {
	n, ok := amount(raw)
	if !ok || n > math.MaxInt32 {
		return 0
	}
	return int64(n)
}

// amount reads a number that may stand in quotes. It is finite and not negative.
func amount(raw json.RawMessage) (float64, bool) {
	text := string(raw)
	if s := ""; json.Unmarshal(raw, &s) == nil && s != "" {
		text = s
	}
	return finite(text)
}

func finite(text string) (float64, bool) {
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && n >= 0 && !math.IsInf(n, 0)
}

// price prefers what the provider says to what a table says.
func (m *Model) price(resp *llm.Response, named *float64, header http.Header) {
	if named == nil {
		if cost, ok := finite(header.Get(litellmCost)); ok {
			named = &cost
		}
	}
	if named != nil {
		resp.Cost, resp.Priced = *named, true
		return
	}
	hasUsage := resp.Usage.Input+resp.Usage.Output > 0
	for _, name := range []string{resp.Model, m.cfg.Model} {
		if cost, ok := m.cfg.Prices.Cost(name, resp.Usage); ok && hasUsage {
			resp.Cost, resp.Priced = cost, true
			return
		}
	}
	resp.Priced = m.cfg.IgnoreCost
}
