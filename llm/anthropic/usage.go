package anthropic

import (
	"cmp"
	"encoding/json"

	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/vocab"
)

// readUsage reads the known members of an answer's usage and ignores the rest: the answer is paid for, and
// another request would be paid for again. The API counts cache reads and writes apart from other input.
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

// bill fills in an answer's usage and cost. The counts of an answer do not include the summaries that the API
// made of the conversation before it (context_management): these are separate requests with a length of their
// own.
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

// service returns the name of the service that answered, if it affects the price of tokens. Speed and tier
// are separate members: gateways leave out the one that was asked for, and report the other.
func (m *Model) service(raw json.RawMessage) string {
	usage := endpoint.Members(raw)
	speed, said := word(usage["speed"])
	if asked, _ := m.at.Body["speed"].(string); speed == "fast" || !said && asked == "fast" {
		return "fast"
	}
	tier, _ := word(usage["service_tier"])
	return cmp.Or(tier, speed)
}

// inPlace is the price factor for requests that are answered in a region of the user's choice
// (platform.claude.com/docs, data residency, 2026).
const inPlace = 1.1

// surcharge returns the price factor of a call's region. For older models it is 1.
func (m *Model) surcharge(usage json.RawMessage) float64 {
	f := familyOf(m.at.Model)
	where, _ := word(endpoint.Members(usage)["inference_geo"])
	if where == "us" && f.version >= 406 {
		return inPlace
	}
	return 1
}
