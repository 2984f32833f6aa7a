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
	"context"
	"net/http"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/openaiapi"
)

// Protocol says how the Responses API is called. Answers are streamed only on request, because OpenAI refuses
// to stream some models to accounts that are not verified.
var Protocol = endpoint.Protocol{
	Provider: "OpenAI", Prefix: "openai/responses/", DefaultBase: "https://api.openai.com/v1",
	KeyVariable: "OPENAI_API_KEY", AddressVariable: "OPENAI_BASE_URL",
	Streaming: endpoint.StreamsOnRequest,
}

// Model implements [llm.Model]. It is safe for concurrent use.
type Model struct {
	at     *endpoint.Endpoint
	call   endpoint.Exchange
	form   history.Form
	stored bool // the server keeps answers, so that an item's id is enough
}

// New checks the config and returns the model; nothing is sent. See [endpoint.Open] for its errors, and
// [Protocol] for the default address.
func New(cfg endpoint.Config) (*Model, error) { return Open(cfg, Protocol) }

// Open is New for another provider of the protocol. Its Translate is set here.
func Open(cfg endpoint.Config, p endpoint.Protocol) (*Model, error) {
	cfg.Model = strings.TrimPrefix(cfg.Model, p.Prefix)
	base, _, err := cfg.Target(p)
	if err != nil {
		return nil, err
	}
	p.Translate = func(members map[string]any) ([]string, error) {
		return translate(members, cfg.Model, openaiapi.IsOpenAI(base))
	}
	at, err := endpoint.Open(cfg, p)
	if err != nil {
		return nil, err
	}
	call, err := openaiapi.NewExchange(at, p, "responses")
	if err != nil {
		return nil, fault.Newf(fault.Usage, "configuring the model: %s", at.Mask.Text(err.Error()))
	}
	m := &Model{at: at, call: call, stored: at.Body["store"] == true}
	m.call.Streamed, m.call.Whole = m.stream, m.response
	m.form = history.Form{Head: m.head, Items: m.items}
	return m, nil
}

// RetryPolicy returns the retry policy set by the config and its Kwargs, for [llm.Calls].
func (m *Model) RetryPolicy() llm.RetryPolicy { return m.at.RetryPolicy() }

// Dropped returns the names of Kwargs that are left out, see [endpoint.Open].
func (m *Model) Dropped() []string { return m.at.Dropped }

// Generate implements [llm.Model] with one request, see [endpoint.Endpoint.Ask].
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	body, err := m.form.Text(req, req.Messages)
	if err != nil {
		return nil, &llm.Unpaid{Err: fault.New(fault.Bug, m.at.Op(), err)}
	}
	return m.call.Make(ctx, m.at, req, append(body, []byte("]}")))
}

// garbled returns the fault of an answer that does not follow the Responses API.
func (m *Model) garbled(what string, err error) error {
	return m.at.NoReply(what, err, "has the Responses API; it usually ends in /v1")
}

// failed returns the fault of an answer with the status failed, or of an error in a stream. Began says that
// the model had begun to write.
func (m *Model) failed(header http.Header, raw []byte, began bool) error {
	status, body := verdict(raw)
	if began || status == http.StatusInternalServerError { // some of the answer may be paid for
		return m.at.Broke(header, body)
	}
	return m.at.RefusedInside(header, body)
}
