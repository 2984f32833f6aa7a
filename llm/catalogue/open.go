package catalogue

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/abspath"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/llm"
	"batch.example/batch/llm/endpoint"
	"batch.example/batch/llm/internal/openaiapi"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/vocab"
)

// served returns a model that is reached over the network.
func (p Provider) served(s Config, name string) (Model, error) {
	prices, err := s.Prices()
	if err != nil {
		return Model{}, err
	}
	cfg := endpoint.Config{
		Model: name, Provider: p.Name, APIVersion: s.Getenv(p.Version), BaseURL: s.Getenv(p.Base), Kwargs: s.Kwargs,
		Prices: prices, IgnoreCost: s.IgnoreCost, HTTP: s.HTTP, KeyFromTurn: s.KeyFromTurn, ReplyEnds: s.ReplyEnds,
	}
	if s.CacheControl != nil {
		cfg.CacheControl = *s.CacheControl
	} else {
		cfg.CacheControl = cachesWhereTold(name)
	}
	base, named, err := cfg.Target(p.protocol)
	if err != nil {
		return Model{}, err
	}
	configs, err := p.configs(s, cfg, base, named)
	if err != nil {
		return Model{}, err
	}
	m := Model{
		Provider: p.Name, Name: name,
		Open: func(proven bool) (Models, error) {
			clients, err := p.open(s, configs, base, proven)
			return func(a Attempt) (llm.Model, error) { return clients.of(a.ID, s.Within), nil }, err
		},
		Each: func() ([]llm.Model, error) {
			clients, err := p.open(s, configs, base, false)
			return clients.each(), err
		},
	}
	m.StrictRoles = p.Keyless || isLoopback(base) || strict().MatchString(p.Name+"/"+name)
	clients, err := p.open(s, configs, base, false) // checks the rest
	m.Dropped, m.Wire = clients.dropped(), clients.wire()
	m.Window, _ = prices.Window(p.Name+"/"+name, name)
	price, known := prices.Lookup(p.Name + "/" + name)
	found, _ := prices.Find(p.Name + "/" + name)
	m.Refused = found.Refused
	m.Sight = p.protocol.Sight
	m.Sight.Blind = found.Vision != nil && !*found.Vision
	if known {
		m.Price = &price
		_, known = price.Cost(vocab.Usage{}, s.service(m.Dropped))
	}
	if !known && !openaiapi.IsOpenRouter(base) {
		m.Cost = Unknown
		if isLoopback(base) || p.Keyless || s.IgnoreCost {
			m.Cost = Uncounted
		}
	}
	return m, err
}

// strict matches the models whose chat templates and servers require alternating roles.
var strict = lazy.Regexp(`(?i)mi[sx]tral|devstral|codestral|magistral|pixtral|gemma`)

// service returns the service that the kwargs ask for unless they are dropped; "" is the standard service.
func (s Config) service(dropped []string) string {
	if s.Kwargs["speed"] == "fast" && !slices.Contains(dropped, "speed") { // Anthropic's word
		return "fast"
	}
	tier, _ := s.Kwargs["service_tier"].(string)
	if tier == "standard_only" || slices.Contains(dropped, "service_tier") {
		return ""
	}
	return tier
}

// played returns a model that batch plays. It continues after the replies that an attempt already has.
func (p Provider) played(s Config, name string) (Model, error) {
	play, err := p.play(s, name)
	if err != nil {
		return Model{}, err
	}
	models := func(a Attempt) (llm.Model, error) {
		m := play(a)
		m.Skip(a.Heard)
		return m, nil
	}
	return Model{Provider: p.Name, Name: name, Played: true, Open: func(bool) (Models, error) { return models, nil }}, nil
}

// Fence returns the function that writes a command into a reply of an agent without tools.
func (s Config) Fence() func(command string) string { return s.script().Fenced }

// script returns how played models write their commands: for a text agent, in its own form if that is literal
// text around the command, line breaks included.
func (s Config) script() scripted.Config {
	literal := strings.NewReplacer(`\s*`, "", `\n`, "\n").Replace(s.ActionRegex)
	before, after, found := strings.Cut(literal, "(.*?)")
	if !found || regexp.QuoteMeta(before) != before || regexp.QuoteMeta(after) != after {
		return scripted.Config{}
	}
	return scripted.Config{Fence: func(command string) string { return before + command + after }}
}

// path returns the path of a file that the settings name.
func (s Config) path(name string) string {
	if s.Dir == "" {
		return name
	}
	return abspath.Join(s.Dir, name)
}

// Prices returns the known prices of models, overridden by the user's own registry.
func (s Config) Prices() (price.Table, error) {
	known := price.Known()
	if s.Registry == "" {
		return known, nil
	}
	file, err := os.Open(s.path(s.Registry))
	if err != nil {
		return nil, fault.New(fault.Usage, "reading model.litellm_model_registry", err)
	}
	defer file.Close()
	own, err := price.Load(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Registry, err)
	}
	return known.With(own), nil
}

// Ready reports whether a model of p has a key or a local server. Text explains it to a person.
func (p Provider) Ready(getenv func(string) string) (text string, ok bool) {
	base := getenv(p.Base)
	keys, variable := p.Keys(getenv)
	switch {
	case len(keys) > 0:
		return variable + " is set, for " + cmp.Or(base, p.Host), true
	case isLoopback(base):
		return "none needed for " + base, true
	default:
		return p.Key + " is not set", false
	}
}

func isLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
