// Package openai is a model behind an OpenAI-compatible chat completions
// endpoint: OpenAI itself, or vLLM, SGLang, Ollama, OpenRouter, a LiteLLM proxy.
//
// It promises that a provider's assistant message is sent back unchanged, and that failures are classified
// faults without the secrets of the configuration. One call is one request: [llm.Calls] adds retries.
//
// Its API is not promised to other programs: see package batch.
package openai

import (
	"context"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/openaiapi"
)

// Protocol says how chat completions are called.
var Protocol = endpoint.Protocol{
	Provider: "OpenAI", Prefix: "openai/", DefaultBase: "https://api.openai.com/v1",
	KeyVariable: "OPENAI_API_KEY", AddressVariable: "OPENAI_BASE_URL",
	Streaming: endpoint.StreamsOnRequest,
}

// Model implements [llm.Model]. It is safe for concurrent use.
type Model struct {
	at   *endpoint.Endpoint
	call endpoint.Exchange
	form history.Form
}

// New checks the config and returns the model; nothing is sent. See [endpoint.Open] for its errors, and
// [Protocol] for the default address.
func New(cfg endpoint.Config) (*Model, error) { return Open(cfg, Protocol) }

// Open is New for another provider of the protocol. If p has no Translate, OpenAI's own servers receive only
// its members, and other servers receive all.
func Open(cfg endpoint.Config, p endpoint.Protocol) (*Model, error) {
	cfg.Model = strings.TrimPrefix(cfg.Model, p.Prefix)
	base, _, err := cfg.Target(p)
	if err != nil {
		return nil, err
	}
	if p.Translate == nil {
		p.Translate = func(members map[string]any) ([]string, error) {
			if _, set := members["usage"]; !set && openaiapi.IsOpenRouter(base) {
				members["usage"] = map[string]any{"include": true} // with the call's cost
			}
			return translate(members, cfg.Model, openaiapi.IsOpenAI(base))
		}
	}
	at, err := endpoint.Open(cfg, p)
	if err != nil {
		return nil, err
	}
	call, err := openaiapi.NewExchange(at, p, "chat/completions")
	if err != nil {
		return nil, fault.Newf(fault.Usage, "configuring the model: %s", at.Mask.Text(err.Error()))
	}
	m := &Model{at: at, call: call}
	m.call.Streamed, m.call.Whole = m.stream, m.response
	m.form = history.Form{Head: m.head, Items: items}
	return m, nil
}

// RetryPolicy returns the retry policy set by the config and its Kwargs, for [llm.Calls].
func (m *Model) RetryPolicy() llm.RetryPolicy { return m.at.RetryPolicy() }

// Dropped returns the model_kwargs that are left out because the provider does not take them.
func (m *Model) Dropped() []string { return m.at.Dropped }

// Generate implements [llm.Model] with one request, see [endpoint.Endpoint.Ask].
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	body, err := m.request(req)
	if err != nil {
		return nil, &llm.Unpaid{Err: fault.New(fault.Bug, m.at.Op(), err)}
	}
	return m.call.Make(ctx, m.at, req, body)
}
