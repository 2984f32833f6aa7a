package main

import (
	"log/slog"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// modelSource is a model that was checked as far as can be without a paid call:
// its name, key and price.
type modelSource struct {
	price   *vocab.Price                                               // nil when calls are free, their provider tells what they cost, or nobody does
	warning string                                                     // of a limit that has no effect, for a person to read
	open    func(log *slog.Logger, proven bool) (solver.Models, error) // as run.Model has it
}

// newModelSource chooses the client that a configuration names. It refuses
// limits on the cost that could not be kept; totalLimit is the run's, 0 for none.
func (a *app) newModelSource(cfg *config.Config, totalLimit float64) (modelSource, error) {
	c := cfg.Model
	scriptedConfig := scripted.Config{Fence: fence(cfg.ActionForm())}
	provider, name, _ := strings.Cut(c.ModelName, "/")
	switch provider {
	case "":
		return modelSource{}, fault.Newf(fault.Usage, "no model is named").
			WithHint("give one with -m, such as -m openai/gpt-5, or -m oracle to check the images")
	case "oracle":
		return playing(func(in dataset.Instance) *scripted.Model {
			return scripted.Oracle([]byte(in.Patch), scriptedConfig)
		}), nil
	case "noop":
		return playing(func(dataset.Instance) *scripted.Model { return scripted.Noop(scriptedConfig) }), nil
	case "scripted":
		return scriptedSource(name, scriptedConfig)
	case "openai":
		if name == "" {
			return modelSource{}, fault.Newf(fault.Usage, "model %q: the name after openai/ is missing", c.ModelName)
		}
		if c.SetCacheControl == "" && cfg.Origin("model.set_cache_control") == "" && wantsCacheControl(name) {
			c.SetCacheControl = openai.CacheControlEnd
		}
		return a.openaiSource(name, c, costLimits{
			total: totalLimit, instance: cfg.Agent.CostLimit, given: cfg.Given("agent.cost_limit"),
		})
	default:
		return modelSource{}, fault.Newf(fault.Usage, "model %q: no client for provider %q", c.ModelName, provider).
			WithHint("models are openai/NAME, oracle, noop or scripted/PATH; other providers are reached through a server\n"+
				"that speaks OpenAI's protocol: set OPENAI_BASE_URL and use -m openai/%s", c.ModelName)
	}
}

// playing is a source of models that cost nothing and go on behind the replies
// an attempt has heard.
func playing(model func(dataset.Instance) *scripted.Model) modelSource {
	models := func(in dataset.Instance, heard int) (llm.Model, error) {
		m := model(in)
		m.Skip(heard)
		return m, nil
	}
	return modelSource{open: func(*slog.Logger, bool) (solver.Models, error) { return models, nil }}
}

func scriptedSource(name string, c scripted.Config) (modelSource, error) {
	load := func() (scripted.Script, error) { return scripted.Load(name) }
	if name == "demo" {
		load = func() (scripted.Script, error) { return scripted.LoadFS(demo.Files(), "replies.yaml") }
	}
	script, err := load()
	if err != nil {
		return modelSource{}, err
	}
	return playing(func(in dataset.Instance) *scripted.Model { return script.Model(in.ID, c) }), nil
}

// wantsCacheControl reports whether a model caches its prompt only where it is
// told to. The rule is the peer's, for Claude behind OpenRouter or LiteLLM.
func wantsCacheControl(model string) bool {
	model = strings.ToLower(model)
	return slices.ContainsFunc([]string{"anthropic", "sonnet", "opus", "claude"}, func(part string) bool {
		return strings.Contains(model, part)
	})
}

// fence returns what puts a command into the form that a text agent asks for,
// or nil where the form is no literal text around the command.
func fence(form agent.ActionForm) func(string) string {
	before, after, found := strings.Cut(form.Regex, "(.*?)")
	if !found || regexp.QuoteMeta(before) != before || regexp.QuoteMeta(after) != after {
		return nil
	}
	return func(command string) string { return before + command + after }
}

func (a *app) openaiSource(name string, c config.ModelConfig, limits costLimits) (modelSource, error) {
	prices, err := a.prices(c)
	if err != nil {
		return modelSource{}, err
	}
	asked := openai.Config{
		Model: name, BaseURL: a.getenv("OPENAI_BASE_URL"), APIKey: a.getenv("OPENAI_API_KEY"), Kwargs: c.ModelKwargs, Prices: prices,
		CacheControl: c.SetCacheControl,
	}
	base, key, err := asked.Endpoint()
	if err != nil {
		return modelSource{}, err
	}
	if key == "" {
		if !isLoopback(base) {
			return modelSource{}, fault.Newf(fault.Usage, "no key for %s: OPENAI_API_KEY is not set", c.ModelName).
				WithHint("export OPENAI_API_KEY=..., or OPENAI_BASE_URL=http://localhost:8000/v1 for a server of your own")
		}
		asked.APIKey = "none" // servers of one's own take any key; the protocol wants a header
	}
	var s modelSource
	if price, known := prices.Lookup(name); known {
		s.price = &price
	} else if !tellsCost(base) {
		free := isLoopback(base) || c.CostTracking == "ignore_errors" || a.getenv("MSWEA_COST_TRACKING") == "ignore_errors"
		if s.warning, err = limits.withoutPrice(name, free); err != nil {
			return modelSource{}, err
		}
	}
	s.open = func(log *slog.Logger, proven bool) (solver.Models, error) {
		opened := asked
		opened.Log, opened.Proven = log, proven
		m, err := openai.New(opened)
		return func(dataset.Instance, int) (llm.Model, error) { return m, nil }, err
	}
	_, err = s.open(nil, false) // it checks the rest
	return s, err
}
