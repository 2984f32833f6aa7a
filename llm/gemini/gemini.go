// Package gemini is a model of Google's Gemini API (generateContent).
//
// A model's answer is sent back unchanged: each part with more than its text, such as one with a thought
// signature, is kept as JSON in [llm.Opaque] and goes back byte for byte, in its place. So are unknown parts.
//
// This package makes the requests itself instead of using Google's SDK (genai 1.77.0): the SDK's client reads
// the environment and writes to the standard log, and its types lose unknown members and the spelling of
// numbers, and encode the whole conversation again for every call. The names are those of the SDK.
//
// Failures are classified faults without the secrets of the configuration. One call is one request:
// [llm.Calls] adds retries.
//
// Its API is not promised to other programs: see package batch.
package gemini

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
)

// Protocol says how the Gemini API is called.
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
	levels  bool // Gemini 3 and later: thinking has levels, and calls need signatures
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

// RetryPolicy returns the retry policy set by the config and its Kwargs, for [llm.Calls].
func (m *Model) RetryPolicy() llm.RetryPolicy { return m.at.RetryPolicy() }

// Dropped returns the model_kwargs that are left out because the provider does not take them.
func (m *Model) Dropped() []string { return m.at.Dropped }

// Generate implements [llm.Model] with one request, see [endpoint.Endpoint.Ask].
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	content, err := m.request(req)
	if err != nil {
		return nil, &llm.Unpaid{Err: fault.New(fault.Bug, m.at.Op(), err)}
	}
	return m.call.Make(ctx, m.at, req, content)
}

// newRequest returns the request of a call, without a body. It does not use Google's SDK, whose client reads
// keys from the environment, and writes to the standard log if it finds several.
func newRequest(at *endpoint.Endpoint) (*http.Request, error) {
	u, err := url.Parse(at.Address)
	if err != nil {
		return nil, err
	}
	clean := strings.TrimRight(u.Path, "/")
	version := path.Base(clean) // the version may be left out
	if versions().MatchString(version) {
		clean = strings.TrimSuffix(clean, "/"+version)
	} else {
		version = "v1beta"
	}
	name := at.Model
	if !strings.Contains(name, "/") { // tunedModels/NAME
		name = "models/" + name
	}
	method := ":generateContent"
	if at.Stream {
		method = ":streamGenerateContent"
		query := u.Query()
		query.Set("alt", "sse")
		u.RawQuery = query.Encode()
	}
	u.Path, u.RawPath = clean+"/"+version+"/"+name+method, ""
	r, err := http.NewRequest(http.MethodPost, u.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if at.APIKey != "" {
		r.Header.Set("X-Goog-Api-Key", at.APIKey)
	}
	for name, value := range at.Headers {
		r.Header.Set(name, value)
	}
	return r, nil
}

// versions are the last elements of an address that name the API's version.
var versions = lazy.Regexp(`^v[0-9]+((alpha|beta)[0-9]*)?$`)
