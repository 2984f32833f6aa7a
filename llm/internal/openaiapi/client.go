// Package openaiapi is shared by the clients of OpenAI's protocols: the addresses of requests, the reading of
// event streams, and the members that OpenAI's own servers accept.
//
// This package makes the requests itself: OpenAI's SDK (openai-go 3.95.0) encodes each whole request again,
// which takes longer than reading its answer.
package openaiapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/sse"
)

// Azure is the provider of the same protocols with another address and header.
const Azure = "Azure"

// NewExchange returns the calls at one path below an endpoint. The caller sets how their answers are read.
func NewExchange(at *endpoint.Endpoint, p endpoint.Protocol, path string) (endpoint.Exchange, error) {
	u, err := url.Parse(at.Address)
	if err != nil {
		return endpoint.Exchange{}, err
	}
	u.RawQuery = ""
	if p.Provider == Azure {
		u, path = azure(at, u, path)
	}
	ask, err := http.NewRequest(http.MethodPost, u.JoinPath(path).String(), nil)
	if err != nil {
		return endpoint.Exchange{}, err
	}
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("Accept", "application/json")
	ask.Header.Set("User-Agent", "batch")
	switch {
	case p.Provider == Azure:
		ask.Header.Set("Api-Key", at.APIKey)
	case at.APIKey != "":
		ask.Header.Set("Authorization", "Bearer "+at.APIKey)
	}
	for name, value := range at.Headers {
		ask.Header.Set(name, value)
	}
	return endpoint.Exchange{Send: at.Sender(ask), Streams: func(answer *http.Response) bool { return at.Stream && streamed(answer) }}, nil
}

// azure returns the address of a request at Azure. A resource has its models below openai/deployments, one
// per version of the API; its newer API, below openai/v1, is like OpenAI's own. An address may name the
// deployment, as Azure's portal shows it.
func azure(at *endpoint.Endpoint, base *url.URL, path string) (*url.URL, string) {
	clean := strings.TrimSuffix(base.Path, "/")
	if strings.HasSuffix(clean, "/v1") {
		return base, path
	}
	clean, deployment, _ := strings.Cut(clean, "/openai/deployments/")
	deployment, _, _ = strings.Cut(deployment, "/")
	u := *base
	u.Path = strings.TrimSuffix(clean, "/openai") + "/openai"
	u.RawQuery = url.Values{"api-version": {at.APIVersion}}.Encode()
	if path == "chat/completions" { // the Responses API has the model in its body
		path = "deployments/" + url.PathEscape(cmp.Or(deployment, at.Model)) + "/" + path
	}
	return &u, path
}

// streamed reports whether the answer is a stream of events. A server may answer without streaming although
// the request asks for it.
func streamed(answer *http.Response) bool {
	return !strings.Contains(strings.ToLower(answer.Header.Get("Content-Type")), "json")
}

// Event is an event of a stream: a JSON object, exactly as the server wrote it.
type Event struct {
	Type string // from its "event" line; empty if there is none
	Data json.RawMessage
}

// done ends a stream of chat completions.
var done = []byte("[DONE]")

// Stream reads the events of an answer.
type Stream struct {
	events *sse.Reader
	done   bool
	err    error
}

// Events returns the events of an answer's body.
func Events(body io.Reader) *Stream { return &Stream{events: sse.NewReader(body)} }

// All returns the events up to the end mark, or to the end of the body.
func (s *Stream) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			event, err := s.events.Next()
			if err != nil {
				s.err = err
				return
			}
			data := bytes.TrimSpace(event.Data)
			if bytes.HasPrefix(data, done) {
				s.done = true
				return
			}
			if !yield(Event{event.Type, data}) {
				return
			}
		}
	}
}

// Done reports whether the end mark has come.
func (s *Stream) Done() bool { return s.done }

// Err returns the error that ended reading early, or nil.
func (s *Stream) Err() error {
	if s.err == io.EOF {
		return nil
	}
	return s.err
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
