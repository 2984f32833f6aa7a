// Package openaiapi is shared by the clients of OpenAI's protocols: the addresses of requests, and the members that
// OpenAI's own servers accept.
//
// This package makes the requests itself: OpenAI's SDK (openai-go 3.95.0) encodes each whole request again,
// which takes longer than reading its answer.
package openaiapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"batch.example/batch/llm/endpoint"
)

// Azure is the provider of the same protocols with another address and header.
const Azure = "Azure"

// NewClient returns a client of the API at one path below an endpoint. The caller sets how requests are
// written and answers are read.
func NewClient(at *endpoint.Endpoint, p endpoint.Protocol, path string) endpoint.Client {
	u := *at.Base
	u.RawQuery = ""
	if p.Provider == Azure {
		path = azure(at, &u, path)
	}
	c := at.Client(u.JoinPath(path), http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"batch"},
	})
	c.Streams = func(asked bool, answer *http.Response) bool { return asked && streamed(answer) }
	return c
}

// azure changes the address of a request to Azure's, and returns the path below it. A resource has its
// models below openai/deployments, one per version of the API; its newer API, below openai/v1, is like
// OpenAI's own. An address may name the deployment, as Azure's portal shows it.
func azure(at *endpoint.Endpoint, u *url.URL, path string) string {
	clean := strings.TrimSuffix(u.Path, "/")
	if strings.HasSuffix(clean, "/v1") {
		return path
	}
	clean, deployment, _ := strings.Cut(clean, "/openai/deployments/")
	deployment, _, _ = strings.Cut(deployment, "/")
	u.Path = strings.TrimSuffix(clean, "/openai") + "/openai"
	u.RawQuery = url.Values{"api-version": {at.APIVersion}}.Encode()
	if path == "chat/completions" { // the Responses API has the model in its body
		path = "deployments/" + url.PathEscape(cmp.Or(deployment, at.Model)) + "/" + path
	}
	return path
}

// streamed reports whether the answer is a stream of events. A server may answer without streaming although
// the request asks for it.
func streamed(answer *http.Response) bool {
	return !strings.Contains(strings.ToLower(answer.Header.Get("Content-Type")), "json")
}

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
