package openaiapi

import (
	"encoding/json"
	"net/http"

	"batch.example/batch/llm/endpoint"
)

// litellmCost is the header in which a LiteLLM proxy reports the cost of a call.
const litellmCost = "X-Litellm-Response-Cost"

// Output returns the tokens of an answer, reasoning included. xAI and gateways to Gemini count reasoning
// separately, which the total shows.
func Output(total, input, output, reasoning int64) int64 {
	if total == input+output+reasoning {
		return output + reasoning
	}
	return output
}

// Cost returns the call's cost if the answer reports it; otherwise nil. OpenRouter reports it in the usage, a
// LiteLLM proxy in a header. If the user has a key of their own at the provider behind OpenRouter, the
// provider's price is added to OpenRouter's fee.
func Cost(usage map[string]json.RawMessage, header http.Header) *float64 {
	if c, ok := endpoint.Amount(usage["cost"]); ok {
		if string(usage["is_byok"]) == "true" {
			behind, _ := endpoint.Amount(endpoint.Members(usage["cost_details"])["upstream_inference_cost"])
			c += behind
		}
		return &c
	}
	if c, ok := endpoint.Amount(json.RawMessage(header.Get(litellmCost))); ok {
		return &c
	}
	return nil
}

// Service returns the service tier that answered; empty for the standard one, and for a value that is not a
// name.
func Service(tier json.RawMessage) string {
	var name string
	_ = json.Unmarshal(tier, &name)
	return name
}
