// Package catalogue is the table of the model providers that batch knows, one row each. Only this table has a
// provider's name, variables, prices and client; the command's flags, help, completion, checks and masking
// read it.
//
// It promises that a model is refused before any request if its provider or name is unknown, its key is
// missing, or its settings cannot be honored.
//
// Its API is not promised to other programs: see package batch.
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
	"batch.example/batch/llm/scripted"
	"batch.example/batch/vocab"
)

// Provider is one row.
type Provider struct {
	Name    string   // before the slash of a model's name, or alone
	Models  []string // forms of its models' names, with placeholders in capitals
	Key     string   // the variable of its key (with S appended: of several keys); empty if it needs none
	Base    string   // the variable of its address
	Version string   // the variable of its API's version; empty if there is none
	Host    string   // its own address, the default
	Paid    bool     // its calls cost money
	Keyless bool     // its servers are the user's own and may need no key
	Further bool     // named only in complete lists of providers
	Gold    bool     // submits the gold patch of each row, which must have one

	// For a provider behind a network.
	protocol endpoint.Protocol
	connect  func(endpoint.Config) (remote, error)
	answers  func(endpoint.Config) (remote, error) // connects to the Responses API; nil without one

	// For a provider that batch plays itself.
	play func(s Config, name string) (func(Attempt) *scripted.Model, error)
}

// Config names a model and configures its calls. Only Model is needed.
type Config struct {
	Model    string // PROVIDER/NAME, or NAME with a Provider
	Provider string

	Responses    bool           // use the Responses API if the provider has it
	Kwargs       map[string]any // see the provider's own package
	ReplyEnds    []string       // see [endpoint.Config]
	CacheControl *string        // nil: the provider's rule
	Registry     string         // a file of prices that override the known ones
	Dir          string         // base of relative paths of Registry and of scripts; empty: the working directory
	IgnoreCost   bool           // the user does not want costs counted
	ActionRegex  string         // finds the command in a reply: the form in which played models write commands
	Demo         fs.FS          // the embedded demo, which has a script of its own
	Getenv       func(string) string

	// KeyFromTurn says that calls bring their own keys, in an [authority.Authority] of their context. The
	// provider's key is then optional: it is used for calls without a key of their own. If no key is set,
	// such a call is a Usage fault.
	KeyFromTurn bool

	// Gate returns the gate for the calls with a key at a base URL; nil admits all at once.
	Gate func(provider, base, key string) llm.Gate
	HTTP *http.Client // sends the requests; nil = a new client
	// Within returns the context of an instance's calls, which HTTP sees; nil changes nothing.
	Within func(ctx context.Context, instance string) context.Context
}

// Model is a model that passed all checks that need no paid call.
type Model struct {
	Provider string       // its row's name
	Name     string       // in its provider's spelling
	Wire     string       // the protocol, see [endpoint.Protocol]; empty: none that a program could speak
	Price    *vocab.Price // nil when calls are free, the provider reports their cost, or it is unknown
	Refused  string       // why the price in the user's registry is not used; empty if it is, or there is none
	Cost     Cost
	Window   int64 // its context in tokens of input; 0 if unknown
	// StrictRoles says that its server may refuse a user's message after a tool result: Mistral's API does,
	// and so do the chat templates of Mistral's models and Google's open ones, on the user's own servers.
	StrictRoles bool
	Sight       llm.Sight                   // the images that it takes
	Played      bool                        // batch itself plays it, without requests or cost
	Each        func() ([]llm.Model, error) // one for each key; nil if Played
	Dropped     []string                    // model_kwargs that are left out because the provider does not take them
	Open        func(proven bool) (Models, error)
}

// Cost tells whether the cost of calls is known.
type Cost int

// The values of Cost. Unknown costs cannot be limited.
const (
	Known     Cost = iota // or calls cost nothing
	Unknown               // calls cost money, and the price is unknown
	Uncounted             // the price is unknown and not needed
)

// Attempt is the attempt that opens a model.
type Attempt struct {
	ID    string // id of the instance
	Patch string // its gold patch
	Heard int    // replies that the attempt already has
}

// Models returns the bare model of an attempt: one call to it is one request. It is called from many
// goroutines at once.
type Models func(Attempt) (llm.Model, error)

// Providers returns the table. It must not be changed.
func Providers() []Provider { return providers }

// Names returns the forms of models' names, without providers that are marked as further.
func Names() []string { return names(false) }

func names(further bool) (names []string) {
	for _, p := range providers {
		if p.Further == further {
			names = append(names, p.Models...)
		}
	}
	return names
}

// Words returns the candidates of a shell's completion for a model's name.
func Words() []string {
	words := append(names(false), names(true)...)
	for i, name := range words {
		if base, last, found := strings.Cut(name, "/"); found && last == strings.ToUpper(last) {
			words[i] = base + "/"
		}
	}
	return words
}

// Free lists the providers that cost nothing and need no key, for a person.
func Free() string {
	var names []string
	for _, p := range providers {
		if !p.Paid {
			names = append(names, p.Name)
		}
	}
	return list(names, "and")
}

// NeedsGold reports whether the model submits gold patches, so that every row must have one.
func (s Config) NeedsGold() bool {
	name, _ := s.split()
	i := slices.IndexFunc(providers, func(p Provider) bool { return p.Name == name })
	return i >= 0 && providers[i].Gold
}

// split returns the provider and the provider's name for the model.
func (s Config) split() (provider, name string) {
	given := s.Provider
	if own, ok := s.Kwargs["custom_llm_provider"].(string); ok && given == "" { // LiteLLM's member for the provider
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

// Find checks a model without sending a request. Errors are Usage faults, or a Host fault if a provider's own
// endpoint has no key.
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
