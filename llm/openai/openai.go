// Package openai is a model behind an OpenAI-compatible chat completions
// endpoint: OpenAI itself, or vLLM, SGLang, Ollama, OpenRouter, a LiteLLM proxy.
//
// It promises that a provider's assistant message is sent back unchanged, that
// failures are classified faults, and that they contain no secret of its configuration.
// One call is one request: [llm.Calls] adds retries.
package openai

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/price"
)

// Defaults of a [Config].
const (
	DefaultBaseURL        = "https://api.openai.com/v1"
	DefaultRequestTimeout = 10 * time.Minute
)

// CacheControlEnd marks the last message for the provider's prompt cache, as
// Anthropic models want it.
const CacheControlEnd = "default_end"

// Config says which model to ask, where and how. Only Model is needed, and
// APIKey where the endpoint wants one.
type Config struct {
	Model   string // without "openai/" in front
	BaseURL string // "" = DefaultBaseURL
	APIKey  string // "" sends no Authorization header

	// Kwargs are members of the request (temperature, max_tokens, ...), as
	// model_kwargs of mini-swe-agent's YAML files. Members of extra_body are set
	// too, extra_headers are sent. Of LiteLLM's own keys api_base, api_key,
	// timeout and num_retries win over this Config, drop_params has no effect,
	// the others are refused.
	Kwargs map[string]any

	Prices         price.Table   // used if the provider does not report the cost
	IgnoreCost     bool          // report every call as priced: at the known price, otherwise at 0
	RequestTimeout time.Duration // for one try up to the end of the answer; 0 = DefaultRequestTimeout
	HTTP           *http.Client  // nil = a new client; its Timeout should be 0
	Retry          llm.RetryPolicy
	CacheControl   string // "" or CacheControlEnd

	// Proven says that the endpoint has answered requests made from this Config
	// before, in an earlier process: one that it refuses is then refused for what
	// is in the conversation.
	Proven bool
}

// Endpoint returns the base URL and the key of requests: those of Kwargs, otherwise
// BaseURL and APIKey, otherwise the default.
func (cfg Config) Endpoint() (baseURL, apiKey string, err error) {
	kw, err := readKwargs(cfg.Kwargs)
	if err != nil {
		return "", "", err
	}
	kw.overrule(&cfg)
	return cmp.Or(cfg.BaseURL, DefaultBaseURL), cfg.APIKey, nil
}

// Model implements [llm.Model]. It is safe for concurrent use.
type Model struct {
	cfg    Config
	kwargs kwargs
	client sdk.Client
	at     *endpoint.Endpoint
}

// New checks the config and returns the model; nothing is sent. Errors are
// Usage faults, or a Host fault when OpenAI's own endpoint is asked without a key.
func New(cfg Config) (*Model, error) {
	kw, err := readKwargs(cfg.Kwargs)
	if err != nil {
		return nil, err
	}
	kw.overrule(&cfg)
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	cfg.RequestTimeout = cmp.Or(cfg.RequestTimeout, DefaultRequestTimeout)
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{Transport: ownTransport()}
	}
	base, err := checkConfig(cfg)
	if err != nil {
		return nil, err
	}
	m := &Model{cfg: cfg, kwargs: kw, at: &endpoint.Endpoint{
		Model: cfg.Model, Address: cfg.BaseURL, Mask: newMasker(cfg, base, kw.headers), Proven: cfg.Proven,
		KeyVariable: "OPENAI_API_KEY", AddressVariable: "OPENAI_BASE_URL", Members: slices.Collect(maps.Keys(kw.body)),
	}}
	m.client.Options = m.options() // and none of the SDK's own from the environment
	return m, nil
}

func checkConfig(cfg Config) (*url.URL, error) {
	if cfg.Model == "" {
		return nil, fault.Newf(fault.Usage, "configuring the model: no model name").
			WithHint("name one with -m openai/NAME")
	}
	if cfg.CacheControl != "" && cfg.CacheControl != CacheControlEnd {
		return nil, fault.Newf(fault.Usage, "configuring the model: set_cache_control is %q, expected %q or nothing",
			cfg.CacheControl, CacheControlEnd)
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		// The URL may hold a password, and url.Parse repeats it.
		return nil, fault.Newf(fault.Usage, "configuring the model: the base URL is not an http or https URL").
			WithHint("OPENAI_BASE_URL or api_base should look like %s", DefaultBaseURL)
	}
	if cfg.APIKey == "" && base.Host == "api.openai.com" {
		return nil, fault.Newf(fault.Host, "configuring the model: OpenAI needs an API key, and none is set").
			WithHint("set OPENAI_API_KEY, or OPENAI_BASE_URL for another endpoint")
	}
	return base, nil
}

func (m *Model) options() []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(m.cfg.BaseURL),
		option.WithHTTPClient(m.cfg.HTTP),
		option.WithMaxRetries(0), // repeating is not the client's
	}
	if m.cfg.APIKey != "" {
		opts = append(opts, option.WithAPIKey(m.cfg.APIKey))
	}
	for name, value := range m.kwargs.headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	return opts
}

// ownTransport keeps a connection per concurrent agent instead of two per host, and
// writes a request of usual length at once.
func ownTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 256
	t.WriteBufferSize = 64 << 10
	return t
}

// RetryPolicy is the one of the config and its Kwargs, for [llm.Calls].
func (m *Model) RetryPolicy() llm.RetryPolicy { return m.cfg.Retry }

// Generate implements [llm.Model] with one request. If the endpoint has not answered m
// with a chat completion before, its settings are probably wrong: a redirect is a Host
// fault, and so is a refused first request; no server, or an answer that is not a chat
// completion, is an [llm.WrongAddress]. After a chat completion, such failures mean that
// the server restarts behind a proxy, and a refusal means that the cause is in the request.
func (m *Model) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	resp, err := m.ask(ctx, req)
	if err != nil {
		return nil, m.at.Misconfigured(req, err)
	}
	m.at.Answered()
	return resp, nil
}

func (m *Model) ask(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	ask, err := m.request(req)
	if err != nil {
		return nil, &llm.Unpaid{Err: fault.New(fault.Bug, m.at.Op(), err)}
	}
	try, cancel := context.WithTimeout(ctx, m.cfg.RequestTimeout)
	defer cancel()
	var body []byte
	var answer *http.Response
	err = m.client.Post(try, "chat/completions", ask.reader(), &body, ask.sized(), option.WithResponseInto(&answer))
	elsewhere := m.at.Redirected(answer, err)
	switch {
	case ctx.Err() == nil && elsewhere != nil:
		return nil, elsewhere
	case err == nil: // paid for, though the caller may have stopped meanwhile
		return m.response(body, answer.Header)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", m.at.Op(), ctx.Err())
	case answer != nil && answer.StatusCode >= http.StatusBadRequest:
		return nil, m.at.Refused(answer)
	case try.Err() != nil:
		return nil, fault.Newf(fault.Transient, "%s: no answer within %v", m.at.Op(), m.cfg.RequestTimeout).
			WithHint("a slow model may need a longer request timeout")
	}
	return nil, m.at.Unreached(err)
}

// bare cuts the provider prefix that names this package.
func bare(model string) string { return strings.TrimPrefix(model, "openai/") }
