// Package responses is a model behind OpenAI's Responses API.
//
// It keeps no state on the server: each request has the whole conversation, the answer is not stored, and the
// model's reasoning comes back encrypted. It promises that every item of an answer (reasoning, messages,
// calls, and items of unknown kinds) is sent back exactly as the server wrote it and in the same order, and
// that failures are classified faults without the secrets of the configuration. One call is one request:
// [llm.Calls] adds retries.
//
// Its API is not promised to other programs: see package batch.
package responses

import (
	"net/http"

	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/openaiapi"
)

// Protocol says how the Responses API is called. Answers are streamed only on request, because OpenAI refuses
// to stream some models to accounts that are not verified.
var Protocol = endpoint.Protocol{
	Provider: "OpenAI", Prefix: "openai/responses/", DefaultBase: "https://api.openai.com/v1",
	KeyVariable: "OPENAI_API_KEY", AddressVariable: "OPENAI_BASE_URL",
}

// Model is an [endpoint.Client].
type Model struct {
	endpoint.Client
	form   history.Form
	stored bool // the server keeps answers, so that an item's id is enough
}

// New checks the config and returns the model; nothing is sent. See [endpoint.Open] for its errors, and
// [Protocol] for the default address.
func New(cfg endpoint.Config) (*Model, error) { return Open(cfg, Protocol) }

// Open is New for another provider of the protocol.
func Open(cfg endpoint.Config, p endpoint.Protocol) (*Model, error) {
	p.Translate, p.Wire, p.Usual = translate, "responses", "has the Responses API; it usually ends in /v1"
	at, err := endpoint.Open(cfg, p)
	if err != nil {
		return nil, err
	}
	m := &Model{Client: openaiapi.NewClient(at, p, "responses"), stored: at.Body["store"] == true}
	m.Encode, m.Streamed, m.Whole = m.request, m.stream, m.response
	m.form = history.Form{Head: m.head, Turn: m.turn}
	return m, nil
}

// failed returns the fault of an answer with the status failed, or of an error in a stream. Began says that
// the model had begun to write.
func (m *Model) failed(header http.Header, raw []byte, began bool) error {
	status, body := verdict(raw)
	if began || status == http.StatusInternalServerError { // some of the answer may be paid for
		return m.At.Broke(header, body)
	}
	return m.At.RefusedInside(header, body)
}
