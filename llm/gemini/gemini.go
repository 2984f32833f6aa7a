// Package gemini is a model of Google's Gemini API (generateContent).
//
// A model's answer is sent back as it came: each part that means more than its text, such as
// one with a thought signature, is kept as JSON in [llm.Opaque] and goes back byte
// for byte, in its place. Parts that this package does not know are kept in the same way.
//
// The requests are this package's own, and not made by Google's SDK (genai 1.77.0), because
// its client reads the environment and writes to the standard log, and its types lose
// unknown members and the spelling of numbers, and encode the whole conversation again for
// every call. The words of the API are the SDK's.
//
// Failures are classified faults, and contain no secret of the configuration. One call is
// one request: [llm.Calls] adds retries.
package gemini

import (
	"context"
	"net/http"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
)

// Protocol is how the Gemini API is asked.
var Protocol = endpoint.Protocol{
	Provider: "Gemini", Prefix: "gemini/", DefaultBase: "https://generativelanguage.googleapis.com",
	KeyVariable: "GEMINI_API_KEY", AddressVariable: "GEMINI_API_BASE",
	Streaming: endpoint.StreamsOnRequest,
	KeyHeader: "X-Goog-Api-Key",
	Translate: keywords.Translate,
}

// provider is the name under which parts of a message are kept.
const provider = "gemini"

// Model implements [llm.Model]. It is safe for concurrent use.
type Model struct {
	at      *endpoint.Endpoint
	ask     *http.Request // without a body
	call    endpoint.Exchange
	members map[string]any
	levels  bool // the model's thinking has levels, and its calls need signatures: Gemini 3 and later
}

// New checks the config and returns the model; nothing is sent. See [endpoint.Open] for
// its errors.
func New(cfg endpoint.Config) (*Model, error) {
	cfg.Model = strings.TrimPrefix(cfg.Model, Protocol.Prefix)
	at, err := endpoint.Open(cfg, Protocol)
	if err != nil {
		return nil, err
	}
	m := &Model{at: at, levels: hasLevels(at.Model)}
	if m.members, err = m.withThinking(at.Body); err != nil {
		return nil, fault.New(fault.Usage, "reading model_kwargs", err)
	}
	if m.ask, err = newRequest(at); err != nil {
		return nil, fault.Newf(fault.Usage, "configuring the model: %s", at.Mask.Text(err.Error()))
	}
	m.call = endpoint.Exchange{
		Send: at.Sender(m.ask), Streamed: m.readStream, Whole: m.response,
		Streams: func(answer *http.Response) bool { return at.Stream && endpoint.HasEvents(answer) },
	}
	return m, nil
}

// RetryPolicy is the one of the config and its Kwargs, for [llm.Calls].
func (m *Model) RetryPolicy() llm.RetryPolicy { return m.at.RetryPolicy() }

// Dropped are the model_kwargs that are left out, since the provider does not take them.
func (m *Model) Dropped() []string { return m.at.Dropped }

// Generate implements [llm.Model] with one request, see [endpoint.Endpoint.Ask].
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	content, err := m.request(req)
	if err != nil {
		return nil, &llm.Unpaid{Err: fault.New(fault.Bug, m.at.Op(), err)}
	}
	return m.call.Make(ctx, m.at, req, content)
}
