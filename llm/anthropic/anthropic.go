// Package anthropic is a model behind Anthropic's Messages API: Claude at Anthropic, or at a
// server of the same protocol.
//
// It promises that the model's own blocks of any kind are sent back unchanged and in order, and that failures
// are classified faults without the secrets of the configuration. One call is one request ([llm.Calls] adds
// retries), except where the API pauses a turn, see [Model.Generate].
//
// Answers are streamed unless model_kwargs.stream is false: a proxy then does not cut a long answer, and a
// server that stopped is noticed.
//
// # Prompt cache
//
// With set_cache_control "default_end", three of the API's four breakpoints are set: at the end of the system
// prompt (or, if there is none, of the tools before it), at the end of the conversation, and at the end of
// the previous request's conversation. The last one is for turns of more than 20 blocks, because the API
// looks no further back for an earlier breakpoint. Entries live for 5 minutes, unless
// model_kwargs.cache_control is given ({type: ephemeral, ttl: 1h}), which then marks each breakpoint. Without
// set_cache_control, that member is sent unchanged, and the API sets one breakpoint itself.
//
// Its API is not promised to other programs: see package batch.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
)

// provider names this package's part of an [llm.Opaque].
const provider = "anthropic"

// Protocol says how the Messages API is called.
var Protocol = endpoint.Protocol{
	Provider: "Anthropic", Wire: "messages", Prefix: "anthropic/", DefaultBase: "https://api.anthropic.com",
	KeyVariable: "ANTHROPIC_API_KEY", AddressVariable: "ANTHROPIC_BASE_URL", KeyHeader: "X-Api-Key",
	Streams: true, Usual: "is an endpoint of Anthropic's Messages API", Translate: translate,
	// A request may have 32 MB, so that a quarter is left for text. It takes 100 images by the measurements in
	// https://github.com/earendil-works/pi/pull/120.
	Sight: llm.Sight{Most: 100, Bytes: 5 << 20, Total: 24 << 20, Side: 8000, Many: 20, ManySide: 2000, NoGIF: true},
}

// Model is an [endpoint.Client] whose calls may take several requests.
type Model struct {
	endpoint.Client
	form     history.Form
	settings settings
}

// New checks the config and returns the model; nothing is sent. See [endpoint.Open] for
// its errors.
func New(cfg endpoint.Config) (*Model, error) {
	at, err := endpoint.Open(cfg, Protocol)
	if err != nil {
		return nil, err
	}
	s, err := newSettings(at)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading model_kwargs.cache_control", err)
	}
	u := *at.Base
	u.Path, u.RawPath, u.RawQuery = root(u.Path)+"/", root(u.RawPath)+"/", ""
	m := &Model{settings: s, Client: at.Client(u.JoinPath("v1/messages"), http.Header{
		"Anthropic-Version": {apiVersion}, "Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"batch"},
	})}
	m.form = history.Form{Leads: true, Head: m.head, Turn: turn, Continues: continues}
	m.Relayed = func(r *llm.Relay) *url.URL {
		if r.Count {
			return m.URL.JoinPath("count_tokens")
		}
		return m.URL
	}
	m.Encode, m.Streams, m.Streamed, m.Whole = m.request, endpoint.HasEvents, m.readStream, m.response
	return m, nil
}

// apiVersion is the version of the Messages API.
const apiVersion = "2023-06-01"

// root returns a path without the API's own, which people write or leave out.
func root(path string) string {
	path = strings.TrimRight(path, "/")
	return strings.TrimSuffix(strings.TrimSuffix(path, "/messages"), "/v1")
}

// maxPauses bounds how often a turn is continued.
const maxPauses = 16

// Generate implements [llm.Model]. An answer that the API pauses (pause_turn, which only its own tools cause)
// is sent back unchanged, and the model continues: the response is the whole turn, with the tokens and the
// cost of all its requests. If a request after the first fails, the whole call may have been charged.
//
// FinishReason is the API's stop_reason: max_tokens and model_context_window_exceeded mark truncated answers.
// The text of a refused answer becomes reasoning, because the API wants it to be discarded.
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	resp, err := m.Client.Generate(ctx, req)
	for n := 0; err == nil && req.Relay == nil && resp.FinishReason == "pause_turn" && n < maxPauses; n++ {
		paused := *req
		paused.Messages = append(slices.Clone(req.Messages), resp.Message)
		var next *llm.Response
		if next, err = m.Client.Generate(ctx, &paused); err == nil {
			resp = join(resp, next)
		} else if free, ok := errors.AsType[*llm.Unpaid](err); ok {
			err = free.Err // the requests before were charged
		}
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// join returns the one answer made of two requests for one turn.
func join(first, next *llm.Response) *llm.Response {
	whole := *next
	whole.Message.Parts = slices.Concat(first.Message.Parts, next.Message.Parts)
	whole.Usage = first.Usage.Add(next.Usage)
	whole.Cost, whole.Priced = first.Cost+next.Cost, first.Priced && next.Priced
	members := endpoint.Members(next.Raw)
	members["content"] = array(slices.Concat(content(first.Raw), content(next.Raw)))
	whole.Raw = write(members)
	return &whole
}

// content returns the blocks of an answer.
func content(raw json.RawMessage) (list [][]byte) {
	var blocks []json.RawMessage
	_ = json.Unmarshal(endpoint.Members(raw)["content"], &blocks) // valid: it was read before
	for _, b := range blocks {
		list = append(list, b)
	}
	return list
}
