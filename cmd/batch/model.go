package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
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
	"batch.example/batch/results"
	"batch.example/batch/solver"
)

// modelSource is a model that was checked as far as can be without a paid call:
// its name, key and price.
type modelSource struct {
	price *results.Price // nil when calls are free or their provider tells what they cost
	open  func(*slog.Logger) (solver.Models, error)
}

// newModelSource chooses the client that a configuration names.
func (a *app) newModelSource(cfg *config.Config) (modelSource, error) {
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
		return a.openaiSource(name, c)
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
	return modelSource{open: func(*slog.Logger) (solver.Models, error) { return models, nil }}
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

func (a *app) openaiSource(name string, c config.ModelConfig) (modelSource, error) {
	base, key := a.getenv("OPENAI_BASE_URL"), a.getenv("OPENAI_API_KEY")
	if key == "" {
		if !isLoopback(base) {
			return modelSource{}, fault.Newf(fault.Usage, "no key for %s: OPENAI_API_KEY is not set", c.ModelName).
				WithHint("export OPENAI_API_KEY=..., or OPENAI_BASE_URL=http://localhost:8000/v1 for a server of your own")
		}
		key = "none" // servers of one's own take any key; the protocol wants a header
	}
	prices, err := a.prices(c)
	if err != nil {
		return modelSource{}, err
	}
	var s modelSource
	if price, known := prices.Lookup(name); known {
		s.price = (*results.Price)(&price)
	}
	free := isLoopback(base) || c.CostTracking == "ignore_errors" || a.getenv("MSWEA_COST_TRACKING") == "ignore_errors"
	if s.price == nil && !free && !tellsCost(base) {
		return modelSource{}, fault.Newf(fault.Usage, "no price is known for model %q, so cost limits cannot hold", name).
			WithHint("give prices with -c model.litellm_model_registry=prices.json, or go without:\n-c model.cost_tracking=ignore_errors")
	}
	s.open = func(log *slog.Logger) (solver.Models, error) {
		m, err := openai.New(openai.Config{
			Model: name, BaseURL: base, APIKey: key, Kwargs: c.ModelKwargs, Prices: prices,
			CacheControl: c.SetCacheControl, Log: log,
		})
		return func(dataset.Instance, int) (llm.Model, error) { return m, nil }, err
	}
	_, err = s.open(slog.New(slog.DiscardHandler)) // it checks the rest
	return s, err
}

// prices are the embedded ones with the user's registry over them.
func (a *app) prices(c config.ModelConfig) (llm.Prices, error) {
	prices := llm.KnownPrices()
	path := c.LitellmModelRegistry
	if path == "" {
		path = a.getenv("LITELLM_MODEL_REGISTRY_PATH")
	}
	if path == "" {
		return prices, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading model.litellm_model_registry", err)
	}
	defer file.Close()
	own, err := llm.LoadPrices(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return prices.With(own), nil
}

func isLoopback(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// tellsCost reports whether the server says what each call cost.
func tellsCost(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "openrouter.ai" || strings.HasSuffix(u.Hostname(), ".openrouter.ai"))
}
