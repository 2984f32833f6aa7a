// Package catalogue is the table of the providers whose models batch can run: one row
// each. What a provider's name, variables, prices and client are stands there and
// nowhere else; the command's flags, help, completion, checks and masking read it.
//
// It promises that a model is refused before anything is asked of it when its provider
// or name is unknown, its key is missing, or its settings cannot be kept.
package catalogue

import (
	"io/fs"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/vocab"
)

// Provider is one row.
type Provider struct {
	Name   string   // before the slash of a model's name, or alone
	Models []string // how its models are named; what is to be filled in stands in capitals
	Key    string   // the variable of its key; empty where it wants none
	Base   string   // the variable of the address that it is asked at
	Host   string   // that is asked without one
	Paid   bool     // its calls cost money

	// Of a provider that is asked over the network.
	prices   func() price.Table
	tells    func(base string) bool                       // the server says what each call cost
	caching  func(model string) string                    // set_cache_control where nobody says
	endpoint func(c client) (base, key string, err error) // that c asks in the end
	connect  func(c client) (llm.Model, error)            // asks nothing yet

	// Of one that is played here.
	play func(s Settings, name string) (func(Attempt) *scripted.Model, error)
}

// Settings say which model is asked, and how. Only Model is needed.
type Settings struct {
	Model    string // PROVIDER/NAME, or NAME where Provider says whose it is
	Provider string

	Kwargs       map[string]any // see the provider's own package
	CacheControl *string        // nil: the provider's rule
	Registry     string         // a file of prices over the known ones
	IgnoreCost   bool           // the user does not want costs counted
	ActionRegex  string         // of the form that a played model's commands take
	Demo         fs.FS          // the embedded demo, which has a script of its own
	Getenv       func(string) string
}

// Model is a model that was checked as far as can be without a paid call.
type Model struct {
	Name  string       // as its provider has it
	Price *vocab.Price // nil when calls are free, their provider tells what they cost, or nobody does
	Cost  Cost
	Open  func(proven bool) (Models, error)
}

// Cost says what is known of what calls cost.
type Cost int

// Unknown costs cannot be limited.
const (
	Known     Cost = iota // or there are none
	Unknown               // they cost money, and nobody says how much
	Uncounted             // and nobody needs to
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

// Names returns how models are named, of all providers.
func Names() []string {
	var names []string
	for _, p := range providers {
		names = append(names, p.Models...)
	}
	return names
}

// Words returns what a shell completes a model's name to.
func Words() []string {
	words := Names()
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

// Find checks a model without asking anything of it. Errors are Usage faults, or a Host
// fault where a provider's own endpoint has no key.
func Find(s Settings) (Model, error) {
	provider, name := s.Provider, s.Model
	if provider == "" {
		provider, name, _ = strings.Cut(s.Model, "/")
	}
	if provider == "" {
		return Model{}, fault.Newf(fault.Usage, "no model is named").
			WithHint("give one with -m, such as -m openai/gpt-5, or -m oracle to check the images")
	}
	i := slices.IndexFunc(providers, func(p Provider) bool { return p.Name == provider })
	if i < 0 {
		return Model{}, fault.Newf(fault.Usage, "model %q: no client for provider %q", s.Model, provider).
			WithHint("models are %s; other providers are reached through a server\n"+
				"that speaks OpenAI's protocol: set %s and use -m %s/%s", list(Names(), "or"), providers[0].Base, providers[0].Name, s.Model)
	}
	p := providers[i]
	if p.play != nil {
		return p.played(s, name)
	}
	if name == "" {
		return Model{}, fault.Newf(fault.Usage, "model %q: the name after %s/ is missing", s.Model, p.Name)
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
