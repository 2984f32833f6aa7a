package endpoint

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/price"
)

// Defaults of a [Config].
const (
	DefaultRequestTimeout = 10 * time.Minute
	DefaultStreamTimeout  = time.Hour // of a call that is streamed, in place of DefaultRequestTimeout
	DefaultIdleTimeout    = 5 * time.Minute
)

// CacheControlEnd marks the last message for the provider's prompt cache, as
// Anthropic models want it.
const CacheControlEnd = "default_end"

// Config says which model to ask, where and how. Only Model is needed, and
// APIKey where the provider wants one.
type Config struct {
	Model    string // as the provider names it
	Provider string // before the slash of the model's name in Prices: "openai"; "" = none
	BaseURL  string // "" = the provider's own
	APIKey   string // "" sends none

	// KeyFromTurn says that each call brings a key of its own, see [Endpoint.Ask]: no other
	// one is needed, and without APIKey a call that brings none is a Usage fault.
	KeyFromTurn bool

	// Kwargs are members of the request (temperature, max_tokens, ...), as
	// model_kwargs of mini-swe-agent's YAML files. Members of extra_body are set
	// unchanged, extra_headers are sent. Of LiteLLM's own keys api_base, api_key,
	// api_version, timeout, stream_timeout and num_retries win over this Config,
	// organization becomes OpenAI's header, stream and drop_params are followed,
	// custom_llm_provider is for who chose the provider, the others are refused.
	Kwargs map[string]any

	ReplyEnds []string // further words by which the provider ends whole replies, see [llm.EndOf]

	Prices         price.Table   // used if the provider does not report the cost
	IgnoreCost     bool          // report every call as priced: at the known price, otherwise at 0
	RequestTimeout time.Duration // for one try up to the end of the answer; 0 = the default
	IdleTimeout    time.Duration // for each wait for more of a streamed answer; 0 = DefaultIdleTimeout
	HTTP           *http.Client  // nil = a new client; its Timeout should be 0
	Retry          llm.RetryPolicy
	CacheControl   string // "" or CacheControlEnd
	APIVersion     string // of Azure's API; "" = the provider's default
	KeyVariable    string // where the key is from, for a person to check; "" = the protocol's variable

	// Proven says that the endpoint has answered requests made from this Config
	// before, in an earlier process: one that it refuses is then refused for what
	// is in the conversation.
	Proven bool
}

// Streaming says how a protocol's answers may come.
type Streaming int

// A client streams never, where model_kwargs.stream is true, or unless it is false.
const (
	NeverStreams Streaming = iota
	StreamsOnRequest
	StreamsByDefault
)

// Protocol holds the differences between providers in making a request.
type Protocol struct {
	Provider        string // for a person: "OpenAI"
	Prefix          string // of its models' names, for a person: "openai/"
	DefaultBase     string // the provider's own base URL
	KeyVariable     string // of the environment, for a person to check
	AddressVariable string
	Streaming       Streaming

	// KeyHeader has the key in a request; "" is Authorization, with "Bearer" in front.
	KeyHeader string

	// Adapt returns the base URL of requests from the one that a user names. Nil means
	// that it is the same.
	Adapt func(base string) string

	// Translate turns LiteLLM's keywords into members of the protocol's request, in place,
	// mostly by [Keywords]. It returns the names that the provider does not take. An error
	// must not contain a value. Nil takes all members unchanged.
	Translate func(members map[string]any) (refused []string, err error)
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

// Open checks cfg and returns the endpoint that it describes; nothing is sent. Errors
// are Usage faults, or a Host fault when the provider's own address has no key.
func Open(cfg Config, p Protocol) (*Endpoint, error) {
	kw, err := readKwargs(cfg.Kwargs, p)
	if err != nil {
		return nil, err
	}
	kw.overrule(&cfg)
	named := kw.names()
	dropped, err := kw.translate(p)
	if err != nil {
		return nil, err
	}
	cfg.BaseURL = p.base(cfg.BaseURL)
	base, err := cfg.check(p)
	if err != nil {
		return nil, err
	}
	e := &Endpoint{
		Config: cfg, Address: cfg.BaseURL, AddressVariable: p.AddressVariable,
		Body: kw.body, Headers: kw.headers, Stream: kw.stream, Dropped: dropped,
		Mask: newMasker(cfg, base, kw.headers), named: slices.DeleteFunc(named, func(name string) bool { return slices.Contains(dropped, name) }),
	}
	e.KeyVariable = cmp.Or(cfg.KeyVariable, p.KeyVariable)
	e.RequestTimeout = cmp.Or(cfg.RequestTimeout, DefaultRequestTimeout)
	if e.Stream {
		e.RequestTimeout = cmp.Or(cfg.RequestTimeout, DefaultStreamTimeout)
	}
	e.HTTP = newClient(cfg.HTTP, e.Stream, cmp.Or(cfg.IdleTimeout, DefaultIdleTimeout))
	e.HTTP.Transport = &turnKeys{next: e.HTTP.Transport, header: p.KeyHeader}
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
	if own, err := url.Parse(p.DefaultBase); cfg.APIKey == "" && !cfg.KeyFromTurn && err == nil && base.Host == own.Host {
		return nil, fault.Newf(fault.Host, "configuring the model: %s needs an API key, and none is set", p.Provider).
			WithHint("set %s, or %s for another endpoint", cmp.Or(cfg.KeyVariable, p.KeyVariable), p.AddressVariable)
	}
	return base, nil
}
