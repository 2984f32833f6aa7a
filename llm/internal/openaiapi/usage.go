package openaiapi

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"

	"batch.example/batch/llm/endpoint"
)

// litellmCost is the header in which a LiteLLM proxy names the cost of a call.
const litellmCost = "X-Litellm-Response-Cost"

// Tokens reads a number of tokens; 0 if it is none.
func Tokens(raw json.RawMessage) int64 {
	n, ok := Amount(raw)
	if !ok || n > math.MaxInt32 {
		return 0
	}
	return int64(n)
}

// Output returns the tokens of an answer with those of its reasoning. As the total says,
// xAI and gateways to Gemini count the latter apart.
func Output(total, input, output, reasoning int64) int64 {
	if total == input+output+reasoning {
		return output + reasoning
	}
	return output
}

// Amount reads a number that may stand in quotes. It is finite and not negative.
func Amount(raw json.RawMessage) (float64, bool) {
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

// Cost is what an answer says that the call cost; nil if it does not. OpenRouter says it
// in the usage, a LiteLLM proxy in a header. With a key of the user's own at the
// provider behind OpenRouter, the provider's price comes on top of OpenRouter's fee.
func Cost(usage map[string]json.RawMessage, header http.Header) *float64 {
	if c, ok := Amount(usage["cost"]); ok {
		if string(usage["is_byok"]) == "true" {
			behind, _ := Amount(endpoint.Members(usage["cost_details"])["upstream_inference_cost"])
			c += behind
		}
		return &c
	}
	if c, ok := finite(header.Get(litellmCost)); ok {
		return &c
	}
	return nil
}

// Service returns the service tier that answered; empty for the standard one.
func Service(tier any) string {
	switch name, _ := tier.(string); name {
	case "default", "auto", "standard", "on_demand": // Groq's word is the last
		return ""
	default:
		return name
	}
}
