package endpoint

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/price"
)

// Defaults of a [Config].
const (
	DefaultRequestTimeout = 10 * time.Minute
	DefaultStreamTimeout  = time.Hour // of a streamed call, instead of DefaultRequestTimeout
	DefaultIdleTimeout    = 5 * time.Minute
)

// CacheControlEnd marks the last message for the provider's prompt cache, in the form of Anthropic's models.
const CacheControlEnd = "default_end"

// Config says which model to ask, where and how. Only Model is required, and APIKey if the provider needs
// one.
type Config struct {
	Model    string // in the provider's spelling
	Provider string // before the slash of the model's name in Prices: "openai"; "" = none
	BaseURL  string // "" = the provider's own
	APIKey   string // "" sends none

	// KeyFromTurn says that each call brings its own key, see [Endpoint.Ask]: APIKey is optional then, and
	// without it a call that brings no key is a Usage fault.
	KeyFromTurn bool

	// Kwargs are members of the request (temperature, max_tokens, ...), in the form of model_kwargs in
	// mini-swe-agent's YAML files. Members of extra_body are set unchanged, and extra_headers are sent.
	// LiteLLM's keys api_base, api_key, api_version, timeout, stream_timeout and num_retries override this
	// Config, organization becomes OpenAI's header, stream and drop_params take effect, custom_llm_provider
	// concerns only the choice of the provider, and all other keys of LiteLLM are refused.
	Kwargs map[string]any

	ReplyEnds []string // further finish reasons of whole replies, see [llm.EndOf]

	Prices         price.Table   // used if the provider does not report the cost
	IgnoreCost     bool          // report every call as priced: at the known price, otherwise at 0
	RequestTimeout time.Duration // for one try, until the end of the answer; 0 = the default
	IdleTimeout    time.Duration // for each pause of a streamed answer; 0 = DefaultIdleTimeout
	HTTP           *http.Client  // nil = a new client; its Timeout should be 0
	Retry          llm.RetryPolicy
	CacheControl   string // "" or CacheControlEnd
	APIVersion     string // version of Azure's API; "" = the provider's default
	KeyVariable    string // the key's origin, for a person to check; "" = the protocol's variable

	// Proven says that the endpoint has answered requests of this Config in an earlier process: a refusal is
	// then due to the content of the conversation.
	Proven bool
}

// Protocol holds the differences between providers in making a request.
type Protocol struct {
	Provider        string // for a person: "OpenAI"
	Wire            string // the protocol's name for programs that speak it themselves: "messages", "chat"
	Prefix          string // prefix of its models' names, for a person: "openai/"
	DefaultBase     string // the provider's own base URL
	KeyVariable     string // the environment variable of the key, for a person to check
	AddressVariable string // the environment variable of the address, for a person to check
	Usual           string // what a usual address is or has, for a person: "is an OpenAI-compatible endpoint"
	Streams         bool   // answers are streamed unless model_kwargs.stream is false; otherwise only if it is true

	Sight llm.Sight // the images that a request may have

	// KeyHeader is the header of the key; "" is Authorization, with "Bearer" before the key.
	KeyHeader string

	// Adapt returns the base URL of requests from a user's base URL. Nil keeps it unchanged.
	Adapt func(base string) string

	// Translate turns LiteLLM's keywords into members of the protocol's request to a model at a base URL, in
	// place, mostly by [Keywords]. It returns the names that the provider does not take. Its errors must not
	// contain a value. Nil takes all members unchanged.
	Translate func(members map[string]any, model, base string) (refused []string, err error)
}

// setKey writes a key into the header of a request.
func (p Protocol) setKey(h http.Header, key string) {
	if p.KeyHeader == "" {
		h.Set("Authorization", "Bearer "+key)
		return
	}
	h.Set(p.KeyHeader, key)
}

// Target returns the base URL and the key of requests: from Kwargs, otherwise BaseURL and
// APIKey, otherwise the provider's own address.
func (cfg Config) Target(p Protocol) (baseURL, apiKey string, err error) {
	kw, err := readKwargs(cfg.Kwargs, p)
	if err != nil {
		return "", "", err
	}
	kw.overrule(&cfg)
	return p.base(cfg.BaseURL), cfg.APIKey, nil
}

func (p Protocol) base(named string) string {
	if named == "" {
		return p.DefaultBase
	}
	if p.Adapt != nil {
		return p.Adapt(named)
	}
	return named
}

// Open checks cfg and returns its endpoint; nothing is sent. Errors are Usage faults, or a Host fault if the
// provider's own address has no key.
func Open(cfg Config, p Protocol) (*Endpoint, error) {
	kw, err := readKwargs(cfg.Kwargs, p)
	if err != nil {
		return nil, err
	}
	kw.overrule(&cfg)
	cfg.Model = strings.TrimPrefix(cfg.Model, p.Prefix)
	cfg.BaseURL = p.base(cfg.BaseURL)
	named := kw.names()
	dropped, err := kw.translate(p, cfg.Model, cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	base, err := cfg.check(p)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		Config: cfg, Base: base, protocol: p,
		Body: kw.body, Headers: kw.headers, Stream: kw.stream, Dropped: dropped,
		Mask: newMasker(cfg, base, kw.headers), named: slices.DeleteFunc(named, func(name string) bool { return slices.Contains(dropped, name) }),
	}
	e.KeyVariable = cmp.Or(cfg.KeyVariable, p.KeyVariable)
	e.RequestTimeout = cmp.Or(cfg.RequestTimeout, DefaultRequestTimeout)
	if e.Stream {
		e.RequestTimeout = cmp.Or(cfg.RequestTimeout, DefaultStreamTimeout)
	}
	e.streamTimeout = cmp.Or(cfg.RequestTimeout, DefaultStreamTimeout)
	e.HTTP = newClient(cfg.HTTP, e.Stream, cmp.Or(cfg.IdleTimeout, DefaultIdleTimeout))
	e.HTTP.Transport = &turnKeys{next: e.HTTP.Transport, protocol: p}
	return e, nil
}

func (cfg Config) check(p Protocol) (*url.URL, error) {
	if cfg.Model == "" {
		return nil, fault.Newf(fault.Usage, "configuring the model: no model name").
			WithHint("name one with -m %sNAME", p.Prefix)
	}
	if cfg.CacheControl != "" && cfg.CacheControl != CacheControlEnd {
		return nil, fault.Newf(fault.Usage, "configuring the model: set_cache_control is %q, expected %q or nothing",
			cfg.CacheControl, CacheControlEnd)
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		// The URL may hold a password, and url.Parse repeats it.
		wrong := "the base URL is not an http or https URL"
		if cfg.BaseURL == "" {
			wrong = "the address of " + p.Provider + " is not set"
		}
		return nil, fault.Newf(fault.Usage, "configuring the model: %s", wrong).
			WithHint("%s or api_base should look like %s", p.AddressVariable, cmp.Or(p.DefaultBase, "https://HOST"))
	}
	base.Path = cmp.Or(base.Path, "/")
	if own, err := url.Parse(p.DefaultBase); cfg.APIKey == "" && !cfg.KeyFromTurn && err == nil && base.Host == own.Host {
		return nil, fault.Newf(fault.Host, "configuring the model: %s needs an API key, and none is set", p.Provider).
			WithHint("set %s, or %s for another endpoint", cmp.Or(cfg.KeyVariable, p.KeyVariable), p.AddressVariable)
	}
	return base, nil
}
