package anthropic

import (
	"cmp"
	"encoding/json"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/vocab"
)

// readUsage reads what it understands of an answer's usage and passes over the rest: the
// answer is paid for, and asking again would pay for it twice. The API counts input that
// was read from or written to the cache apart from other input.
func readUsage(raw json.RawMessage) vocab.Usage {
	usage := endpoint.Members(raw)
	u := vocab.Usage{
		Cached:     endpoint.Tokens(usage["cache_read_input_tokens"]),
		CacheWrite: endpoint.Tokens(usage["cache_creation_input_tokens"]),
		CacheHour:  endpoint.Tokens(endpoint.Members(usage["cache_creation"])["ephemeral_1h_input_tokens"]),
		Output:     endpoint.Tokens(usage["output_tokens"]),
		Reasoning:  endpoint.Tokens(endpoint.Members(usage["output_tokens_details"])["thinking_tokens"]),
	}
	u.Input = endpoint.Tokens(usage["input_tokens"]) + u.Cached + u.CacheWrite
	return u
}

// bill fills in what an answer used and cost. The counts of an answer leave out the
// summaries that the API made of the conversation before it (context_management), which
// are requests of their own length.
func (m *Model) bill(resp *llm.Response, usage json.RawMessage) {
	resp.Usage = readUsage(usage)
	m.at.Price(resp, nil)
	var iterations []json.RawMessage
	_ = json.Unmarshal(endpoint.Members(usage)["iterations"], &iterations) // mostly there are none
	for _, i := range iterations {
		if kind, _ := word(endpoint.Members(i)["type"]); kind != "compaction" {
			continue
		}
		summary := &llm.Response{Usage: readUsage(i), Service: resp.Service, Model: resp.Model}
		m.at.Price(summary, nil)
		resp.Usage = resp.Usage.Add(summary.Usage)
		resp.Cost, resp.Priced = resp.Cost+summary.Cost, resp.Priced && summary.Priced
	}
	resp.Cost *= m.surcharge(usage)
}

// service is the name of how the API answered, as far as it changes what a token costs. Speed and tier
// are apart: gateways leave out the one that was asked for, and name the other.
func (m *Model) service(raw json.RawMessage) string {
	usage := endpoint.Members(raw)
	speed, said := word(usage["speed"])
	if asked, _ := m.at.Body["speed"].(string); speed == "fast" || !said && asked == "fast" {
		return "fast"
	}
	tier, _ := word(usage["service_tier"])
	return cmp.Or(tier, speed)
}

// inPlace is the factor on the price of tokens for a request that is answered in a place of
// the user's choice: platform.claude.com/docs, data residency, of 2026.
const inPlace = 1.1

// surcharge is the factor on the price of a call's tokens. Older models cost the same
// everywhere.
func (m *Model) surcharge(usage json.RawMessage) float64 {
	f := familyOf(m.at.Model)
	where, _ := word(endpoint.Members(usage)["inference_geo"])
	if where == "us" && f.version >= 406 {
		return inPlace
	}
	return 1
}
