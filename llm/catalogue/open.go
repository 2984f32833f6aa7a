package catalogue

import (
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/price"
	"batch.example/batch/llm/scripted"
)

// client is what a provider's own client is made from.
type client struct {
	model, base, key string
	kwargs           map[string]any
	prices           price.Table
	caching          string
	proven           bool
}

// served is a model of a provider that is asked over the network.
func (p Provider) served(s Settings, name string) (Model, error) {
	prices, err := s.prices(p.prices())
	if err != nil {
		return Model{}, err
	}
	c := client{
		model: name, base: s.Getenv(p.Base), key: s.Getenv(p.Key), kwargs: s.Kwargs, prices: prices,
	}
	if s.CacheControl != nil {
		c.caching = *s.CacheControl
	} else {
		c.caching = p.caching(name)
	}
	base, key, err := p.endpoint(c)
	if err != nil {
		return Model{}, err
	}
	if key == "" {
		if !isLoopback(base) {
			return Model{}, fault.Newf(fault.Usage, "no key for %s: %s is not set", s.Model, p.Key).
				WithHint("set it: `export %s=...`\nor, for a server of your own that wants no key: `export %s=http://localhost:8000/v1`", p.Key, p.Base)
		}
		c.key = "none" // servers of one's own take any key; the protocol wants a header
	}
	m := Model{Name: name, Open: func(proven bool) (Models, error) {
		opened := c
		opened.proven = proven
		m, err := p.connect(opened)
		return func(Attempt) (llm.Model, error) { return m, nil }, err
	}}
	if price, known := prices.Lookup(name); known {
		m.Price = &price
	} else if !p.tells(base) {
		m.Cost = Unknown
		if isLoopback(base) || s.IgnoreCost {
			m.Cost = Uncounted
		}
	}
	_, err = m.Open(false) // it checks the rest
	return m, err
}

// played is a model that is played here. It continues after the replies that an
// attempt has had.
func (p Provider) played(s Settings, name string) (Model, error) {
	play, err := p.play(s, name)
	if err != nil {
		return Model{}, err
	}
	models := func(a Attempt) (llm.Model, error) {
		m := play(a)
		m.Skip(a.Heard)
		return m, nil
	}
	return Model{Name: name, Played: true, Open: func(bool) (Models, error) { return models, nil }}, nil
}

// script returns how played models write their commands: in the form that a text
// agent asks for, where that is literal text around the command, line breaks included.
func (s Settings) script() scripted.Config {
	literal := strings.NewReplacer(`\s*`, "", `\n`, "\n").Replace(s.ActionRegex)
	before, after, found := strings.Cut(literal, "(.*?)")
	if !found || regexp.QuoteMeta(before) != before || regexp.QuoteMeta(after) != after {
		return scripted.Config{}
	}
	return scripted.Config{Fence: func(command string) string { return before + command + after }}
}

// prices are the known ones with the user's own over them.
func (s Settings) prices(known price.Table) (price.Table, error) {
	if s.Registry == "" {
		return known, nil
	}
	file, err := os.Open(s.Registry)
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

// Ready says whether a model of p could be asked: with its key, or at an address of
// one's own. Text is for a person.
func (p Provider) Ready(getenv func(string) string) (text string, ok bool) {
	base := getenv(p.Base)
	switch {
	case getenv(p.Key) != "" && base != "":
		return p.Key + " is set, for " + base, true
	case getenv(p.Key) != "":
		return p.Key + " is set, for " + p.Host, true
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
