// Package catalogue is the table of the providers of models that batch can run: one row
// each. A provider's name, variables, prices and client are there and nowhere else; the command's
// flags, help, completion, checks and masking read it.
//
// It promises that a model is refused before anything is asked of it when its provider
// or name is unknown, its key is missing, or its settings cannot be kept.
package catalogue

import (
	"context"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/vocab"
)

// Provider is one row.
type Provider struct {
	Name    string   // before the slash of a model's name, or alone
	Models  []string // how its models are named; what is to be filled in stands in capitals
	Key     string   // the variable of its key, which with an S has several; empty where it wants none
	Base    string   // the variable of the address that it is asked at
	Version string   // the variable of its API's version; empty without one
	Host    string   // that is asked without one
	Paid    bool     // its calls cost money
	Keyless bool     // its servers are the user's own and may want no key
	Further bool     // it is named to a person only where all are
	Gold    bool     // it submits the gold patch of each row, which must have one

	// Of a provider that is asked over the network.
	protocol endpoint.Protocol
	prices   func() price.Table
	tells    func(base string) bool    // the server says what each call cost
	caching  func(model string) string // set_cache_control where it is not set
	connect  func(endpoint.Config) (llm.Model, error)
	answers  func(endpoint.Config) (llm.Model, error) // by the Responses API; nil if it does not have it

	// Of one that is played here.
	play func(s Config, name string) (func(Attempt) *scripted.Model, error)
}

// Config says which model is asked, and how. Only Model is needed.
type Config struct {
	Model    string // PROVIDER/NAME, or NAME with a Provider
	Provider string

	Responses    bool           // by the Responses API, where the provider has it
	Kwargs       map[string]any // see the provider's own package
	ReplyEnds    []string       // see [endpoint.Config]
	CacheControl *string        // nil: the provider's rule
	Registry     string         // a file of prices over the known ones
	Dir          string         // where relative paths of Registry and of a script start; empty: the working directory
	IgnoreCost   bool           // the user does not want costs counted
	ActionRegex  string         // of the form that a played model's commands take
	Demo         fs.FS          // the embedded demo, which has a script of its own
	Getenv       func(string) string

	// KeyFromTurn says that the calls bring keys of their own, in an [authority.Authority] of
	// their context: a provider's key need not be set then, and without it a call that brings
	// none is a Usage fault. A key that is set is used for calls that bring none.
	KeyFromTurn bool

	// Gate returns what admits the calls with a key at a base URL; nil admits all at once.
	Gate func(provider, base, key string) llm.Gate
	HTTP *http.Client // sends the requests; nil = a new client
	// Within returns the context of an instance's calls, which HTTP sees; nil changes nothing.
	Within func(ctx context.Context, instance string) context.Context
}

// Model is a model that was checked as far as can be without a paid call.
type Model struct {
	Provider string       // its row's name
	Name     string       // as its provider has it
	Price    *vocab.Price // nil when calls are free, the provider reports their cost, or it is unknown
	Refused  string       // why the price in the user's registry is not used; empty if it is, or there is none
	Cost     Cost
	Window   int64 // tokens of input that it takes; 0 if that is not known
	// StrictRoles says that its server may refuse a user's message after the result of a tool: Mistral's
	// API does, and chat templates of its models and Google's open ones, which the user's own servers use.
	StrictRoles bool
	Played      bool                        // by batch itself: no request is made, nothing is paid
	Each        func() ([]llm.Model, error) // one for each key; nil if Played
	Dropped     []string                    // model_kwargs that are left out, since the provider does not take them
	Open        func(proven bool) (Models, error)
}

// Cost says what is known of what calls cost.
type Cost int

// Unknown costs cannot be limited.
const (
	Known     Cost = iota // or there are none
	Unknown               // they cost money, and the price is unknown
	Uncounted             // the price is unknown and not needed
)

// Attempt is for whom a model is opened.
type Attempt struct {
	ID    string // of the instance
	Patch string // its gold patch
	Heard int    // replies that the attempt has heard already
}

// Models returns the bare model of an attempt: one call to it is one request. It is
// called from many goroutines at once.
type Models func(Attempt) (llm.Model, error)

// Providers returns the table. It must not be changed.
func Providers() []Provider { return providers }

// Names returns how models are named, of the providers that are not further ones.
func Names() []string { return names(false) }

func names(further bool) (names []string) {
	for _, p := range providers {
		if p.Further == further {
			names = append(names, p.Models...)
		}
	}
	return names
}

// Words returns what a shell completes a model's name to.
func Words() []string {
	words := append(names(false), names(true)...)
	for i, name := range words {
		if base, last, found := strings.Cut(name, "/"); found && last == strings.ToUpper(last) {
			words[i] = base + "/"
		}
	}
	return words
}

// Free names the providers that cost nothing and need no key, for a person.
func Free() string {
	var names []string
	for _, p := range providers {
		if !p.Paid {
			names = append(names, p.Name)
		}
	}
	return list(names, "and")
}

// NeedsGold reports whether the model that s names submits gold patches, so that
// every row must have one.
func (s Config) NeedsGold() bool {
	name, _ := s.split()
	i := slices.IndexFunc(providers, func(p Provider) bool { return p.Name == name })
	return i >= 0 && providers[i].Gold
}

// split returns the provider and its name of the model.
func (s Config) split() (provider, name string) {
	given := s.Provider
	if own, ok := s.Kwargs["custom_llm_provider"].(string); ok && given == "" { // as LiteLLM names it
		given = own
	}
	if given != "" {
		return given, strings.TrimPrefix(s.Model, given+"/")
	}
	var found bool
	provider, name, found = strings.Cut(s.Model, "/")
	if !found {
		if p := providerOf(s.Model); p != "" {
			return p, s.Model
		}
	}
	return provider, name
}

// asksOpenAI reports whether requests go to OpenAI's own servers.
func (s Config) asksOpenAI(p Provider) bool {
	base, _, err := endpoint.Config{BaseURL: s.Getenv(p.Base), Kwargs: s.Kwargs}.Target(p.protocol)
	return err == nil && openaiapi.IsOpenAI(base)
}

// Find checks a model without asking anything of it. Errors are Usage faults, or a Host
// fault where a provider's own endpoint has no key.
func Find(s Config) (Model, error) {
	provider, name := s.split()
	if provider == "" {
		return Model{}, fault.Newf(fault.Usage, "no model is named").
			WithHint("name one with -m: `-m openai/gpt-5`, or `-m oracle` to check the images\n%s", known())
	}
	i := slices.IndexFunc(providers, func(p Provider) bool { return p.Name == provider })
	if i < 0 {
		return Model{}, unknownProvider(s, provider, name)
	}
	p := providers[i]
	if p.play != nil {
		return p.played(s, name)
	}
	if name == "" {
		return Model{}, fault.Newf(fault.Usage, "model %q: the name after %s/ is missing", s.Model, p.Name).
			WithHint("write it as the provider does: `-m %s`", p.Models[0])
	}
	if p.answers != nil {
		rest, named := strings.CutPrefix(name, "responses/")
		if named || s.Responses || p.Name == "openai" && openaiapi.OnlyResponds(name) && s.asksOpenAI(p) {
			p.connect, name = p.answers, rest
		}
	}
	return p.served(s, name)
}

// list joins words for a person.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
