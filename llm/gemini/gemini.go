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
	"net/http"
	"net/url"
	"path"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// Protocol says how the Gemini API is called.
var Protocol = endpoint.Protocol{
	Provider: "Gemini", Wire: "gemini", Prefix: "gemini/", DefaultBase: ownBase,
	KeyVariable: "GEMINI_API_KEY", AddressVariable: "GEMINI_API_BASE",
	KeyHeader: "X-Goog-Api-Key", Usual: "is an endpoint of the Gemini API, such as " + ownBase,
	Sight:     llm.Sight{Total: 15 << 20, NoGIF: true}, // a request may have 20 MB, so that a quarter is left for text
	Translate: func(members map[string]any, _, _ string) ([]string, error) { return keywords.Translate(members) },
}

// ownBase is Google's own address.
const ownBase = "https://generativelanguage.googleapis.com"

// provider is the name under which parts of a message are kept.
const provider = "gemini"

// Model is an [endpoint.Client].
type Model struct {
	endpoint.Client
	form    history.Form
	members map[string]any
	levels  bool // Gemini 3 and later: thinking has levels, and calls need signatures
}

// New checks the config and returns the model; nothing is sent. See [endpoint.Open] for
// its errors.
func New(cfg endpoint.Config) (*Model, error) {
	at, err := endpoint.Open(cfg, Protocol)
	if err != nil {
		return nil, err
	}
	m := &Model{levels: hasLevels(at.Model)}
	if m.members, err = m.withThinking(at.Body); err != nil {
		return nil, fault.New(fault.Usage, "reading model_kwargs", err)
	}
	m.Client = at.Client(address(at, method(at.Stream)), http.Header{"Content-Type": {"application/json"}})
	m.Encode, m.Streamed, m.Whole = m.request, m.readStream, m.response
	m.form = history.Form{Leads: true, Head: m.head, Turn: m.turn, Continues: continues}
	m.Streams = func(asked bool, answer *http.Response) bool { return asked && endpoint.HasEvents(asked, answer) }
	m.Relayed = func(r *llm.Relay) *url.URL {
		if r.Count {
			return address(at, "countTokens")
		}
		return address(at, method(r.Stream))
	}
	return m, nil
}

// Methods of a model.
const (
	atOnce   = "generateContent"
	inPieces = "streamGenerateContent"
)

// method returns the method of an answer that is streamed or not.
func method(stream bool) string {
	if stream {
		return inPieces
	}
	return atOnce
}

// address returns the address of a method of the model.
func address(at *endpoint.Endpoint, method string) *url.URL {
	u := *at.Base
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
	if method == inPieces {
		query := u.Query()
		query.Set("alt", "sse")
		u.RawQuery = query.Encode()
	}
	u.Path, u.RawPath = clean+"/"+version+"/"+name+":"+method, ""
	return &u
}

// versions are the last elements of an address that name the API's version.
var versions = lazy.Regexp(`^v[0-9]+((alpha|beta)[0-9]*)?$`)
