// Package openai is a model behind an OpenAI-compatible chat completions
// endpoint: OpenAI itself, or vLLM, SGLang, Ollama, OpenRouter, a LiteLLM proxy.
//
// It promises that a provider's assistant message is sent back unchanged, and that failures are classified
// faults without the secrets of the configuration. One call is one request: [llm.Calls] adds retries.
//
// Its API is not promised to other programs: see package batch.
package openai

import (
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/history"
	"batch.example/batch/llm/internal/openaiapi"
)

// Protocol says how chat completions are called.
var Protocol = endpoint.Protocol{
	Provider: "OpenAI", Prefix: "openai/", DefaultBase: "https://api.openai.com/v1",
	KeyVariable: "OPENAI_API_KEY", AddressVariable: "OPENAI_BASE_URL",
}

// usual describes a usual address of the protocol.
const usual = "is an OpenAI-compatible endpoint; it usually ends in /v1"

// Model is an [endpoint.Client].
type Model struct {
	endpoint.Client
	form history.Form
}

// New checks the config and returns the model; nothing is sent. See [endpoint.Open] for its errors, and
// [Protocol] for the default address.
func New(cfg endpoint.Config) (*Model, error) { return Open(cfg, Protocol) }

// Open is New for another provider of the protocol. OpenAI's own servers receive only its members, and other
// servers receive all.
func Open(cfg endpoint.Config, p endpoint.Protocol) (*Model, error) {
	p.Translate, p.Usual, p.Wire = translate, usual, "chat"
	at, err := endpoint.Open(cfg, p)
	if err != nil {
		return nil, err
	}
	m := &Model{Client: openaiapi.NewClient(at, p, "chat/completions")}
	m.Encode, m.Streamed, m.Whole = m.request, m.stream, m.response
	m.form = history.Form{Head: m.head, Turn: turn}
	if openaiapi.IsOpenAI(at.BaseURL) && at.CacheControl == "" {
		m.form.Turn, m.form.Continues = results, oneTurn
	}
	return m, nil
}
