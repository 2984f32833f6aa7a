package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/llm/price"
	"batch.example/batch/run"
	"batch.example/batch/vocab"
)

func (a *app) modelsCommand() *cobra.Command {
	var f modelsFlags
	c := &cobra.Command{
		Use:   "models [PATTERN]",
		Short: "List models with a known price or context",
		Long: `List the models with a known price or context, as -m takes them, with the price
of a million tokens in US dollars: input, input read from the provider's cache
and written to it, and output. PATTERN is a part of the name, or a shell
pattern; with it, rates of long calls and of service tiers are listed too, and
the sources of prices. A model that is not listed runs as well.

  batch models
  batch models claude-opus
  batch models 'openai/gpt-5*' --json
  batch models -c model.litellm_model_registry=prices.json

FROM is the day on which a price was last checked, or registry: the user's own
file, in the form of LiteLLM's. READY says whether the provider's key is set, if
it wants one; - is a provider that batch does not ask, or a model without a
named provider.

Exit codes: 0; 2 usage.`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.pattern = args[0]
			}
			return a.models(f)
		},
	}
	fs := c.Flags()
	fs.StringVar(&f.provider, "provider", "", "only models of this provider, such as anthropic")
	fs.StringArrayVarP(&f.Configs, "config", "c", nil, "YAML `FILE` or key=value, as for batch run; may be repeated")
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON object per line")
	return c
}

type modelsFlags struct {
	run.Configuration // that names a registry of prices

	pattern, provider string
	asJSON            bool
}

// listedModel is a line of `batch models --json`.
type listedModel struct {
	Model    string       `json:"model"`
	Provider string       `json:"provider,omitempty"`
	Context  int64        `json:"context_tokens,omitempty"`
	Output   int64        `json:"max_output_tokens,omitempty"`
	Price    *vocab.Price `json:"usd_per_million_tokens,omitempty"`
	Registry bool         `json:"registry,omitempty"`
	Date     string       `json:"date,omitempty"`
	Until    string       `json:"until,omitempty"`
	Source   string       `json:"source,omitempty"`
	Ready    *bool        `json:"ready,omitempty"` // nil if it is not known
}

func (a *app) models(f modelsFlags) error {
	cfg, err := a.process().LoadConfig(run.Request{Configuration: f.Configuration})
	if err != nil {
		return err
	}
	if err := a.process().HideAndWarn(cfg, nil); err != nil {
		return err
	}
	table, err := run.ModelSettings(cfg, a.getenv).Prices()
	if err != nil {
		return err
	}
	names, err := f.selected(table)
	if err != nil {
		return err
	}
	ready := a.readyProviders()
	var list []listedModel
	for _, name := range names {
		m := table[name]
		l := listedModel{
			Model: name, Provider: providerOf(name, m), Context: m.Window, Output: m.Output, Price: perMillion(m.Price),
			Registry: m.Own, Date: m.Date, Until: m.Until, Source: m.Source,
		}
		if ok, has := ready[l.Provider]; has {
			l.Ready = &ok
		}
		list = append(list, l)
	}
	if f.asJSON {
		each := a.jsonLines()
		for _, l := range list {
			if err := each(l); err != nil {
				return err
			}
		}
		return nil
	}
	return a.listModels(list, f.pattern != "")
}

// selected returns the names that the flags keep.
func (f modelsFlags) selected(table price.Table) ([]string, error) {
	all := slices.Sorted(maps.Keys(table))
	var providers []string
	names := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		provider := providerOf(name, table[name])
		providers = append(providers, provider)
		return f.provider != "" && provider != f.provider
	})
	if len(names) == 0 && f.provider != "" {
		known := slices.Compact(slices.Sorted(slices.Values(providers)))
		return nil, fault.Newf(fault.Usage, "--provider %s: no model of it is known", f.provider).
			WithHint("%s", near.Hint(near.Name(f.provider, known), "known are "+strings.Join(known, ", ")))
	}
	pattern := strings.ToLower(f.pattern)
	found := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		name = strings.ToLower(name)
		matched, _ := path.Match(pattern, name)
		return !matched && !strings.Contains(name, pattern)
	})
	if m, ok := table.Find(f.pattern); ok && len(found) == 0 { // under another of its names
		found = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return table[name] != m })
	}
	if len(found) > 0 {
		return found, nil
	}
	err := fault.Newf(fault.Usage, "nothing is known of a model like %q", f.pattern)
	if best := near.Name(f.pattern, append(bareNames(names), names...)); best != "" {
		return nil, err.WithHint("did you mean %s?", best)
	}
	return nil, err.WithHint("`batch models` lists what is known; a model without a price runs with -c model.cost_tracking=ignore_errors")
}

// providerOf returns the provider of a model; in the registry, the name alone may say it.
func providerOf(name string, m price.Model) string {
	before, _, _ := strings.Cut(name, "/")
	if m.Provider == "" && slices.ContainsFunc(catalogue.Providers(), func(p catalogue.Provider) bool { return p.Paid && p.Name == before }) {
		return before
	}
	return m.Provider
}

// bareNames are names without their provider.
func bareNames(names []string) []string {
	list := slices.Clone(names)
	for i, name := range list {
		list[i] = name[strings.LastIndex(name, "/")+1:]
	}
	return list
}

// readyProviders says for each provider with keys whether batch could ask it.
func (a *app) readyProviders() map[string]bool {
	ready := map[string]bool{}
	for _, p := range catalogue.Providers() {
		if p.Paid {
			_, set := p.Ready(a.getenv)
			ready[p.Name] = set || p.Keyless
		}
	}
	return ready
}

func (a *app) listModels(list []listedModel, details bool) error {
	var t printable.Table
	t.Row("MODEL", "CONTEXT", "INPUT", "CACHED", "WRITE", "OUTPUT", "FROM", "READY")
	for _, l := range list {
		ready := "-"
		if l.Ready != nil {
			ready = map[bool]string{true: "yes", false: "no key"}[*l.Ready]
		}
		from := l.Date
		if l.Registry {
			from = "registry"
		}
		rates := []string{"unknown", "", "", ""}
		if l.Price != nil {
			rates = ratesOf(l.Price.Rates)
		}
		t.Row(printable.Line(l.Model), cmp.Or(tokenCount(l.Context), "unknown"), rates[0], rates[1], rates[2], rates[3], from, ready)
		if details && l.Price != nil {
			rateRows(&t, "", *l.Price)
		}
	}
	if err := t.Write(a.stdout); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\n%s; US dollars per million tokens\n", printable.Count(len(list), "model", "models"))
	if details {
		a.saySources(list)
	}
	return nil
}

// rateRows adds a row for each length and service with rates of its own.
func rateRows(t *printable.Table, service string, p vocab.Price) {
	for _, tier := range p.Tiers {
		r := ratesOf(tier.Rates)
		t.Row(strings.TrimRight("  "+service, " ")+"  above "+tokenCount(tier.Above), "", r[0], r[1], r[2], r[3], "", "")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Services)) {
		r := ratesOf(p.Services[name].Rates)
		t.Row("  "+name, "", r[0], r[1], r[2], r[3], "", "")
		rateRows(t, name, p.Services[name])
	}
}

// saySources says where prices were read and when, and which are only promised for a time.
func (a *app) saySources(list []listedModel) {
	var said []string
	say := func(line string) {
		if !slices.Contains(said, line) {
			said = append(said, line)
			fmt.Fprintln(a.stdout, printable.Line(line))
		}
	}
	for _, l := range list {
		if l.Source != "" {
			say(fmt.Sprintf("%s: %s, %s", l.Provider, l.Source, l.Date))
		}
		if l.Until != "" {
			say(fmt.Sprintf("%s: this price is promised until %s", l.Model, l.Until))
		}
	}
}

// ratesOf are the cells of a table: input, cached, written, output. The rate of tokens that are
// kept for an hour stands behind a slash.
func ratesOf(r vocab.Rates) []string {
	write := ""
	if r.CacheWrite > 0 {
		write = number(r.CacheWrite)
	}
	if r.CacheHour > 0 {
		write += "/" + number(r.CacheHour)
	}
	return []string{number(r.Input), number(r.CachedInput), write, number(r.Output)}
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// tokenCount is a number of tokens, 0 as nothing.
func tokenCount(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// perMillion is a price per million tokens, without the error of the division.
func perMillion(p *vocab.Price) *vocab.Price {
	if p == nil {
		return nil
	}
	scaled := vocab.Price{Rates: ratesPerMillion(p.Rates)}
	for _, tier := range p.Tiers {
		scaled.Tiers = append(scaled.Tiers, vocab.Tier{Above: tier.Above, Rates: ratesPerMillion(tier.Rates)})
	}
	for name, service := range p.Services {
		if scaled.Services == nil {
			scaled.Services = map[string]vocab.Price{}
		}
		scaled.Services[name] = *perMillion(&service)
	}
	return &scaled
}

func ratesPerMillion(r vocab.Rates) vocab.Rates {
	for _, rate := range []*float64{&r.Input, &r.CachedInput, &r.CacheWrite, &r.CacheHour, &r.Output} {
		*rate = million(*rate)
	}
	return r
}

// million is the price of a million tokens.
func million(rate float64) float64 { return math.Round(rate*1e15) / 1e9 }
