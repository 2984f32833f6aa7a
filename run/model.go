package run

import (
	"cmp"
	"log/slog"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/llm"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// Model is what instances are run with.
type Model struct {
	// Price is nil when calls are free, their provider tells what they cost, or
	// nobody does.
	Price *vocab.Price
	// Open is called once. Proven says that the directory holds replies which the
	// configuration has had.
	Open func(proven bool) (solver.Models, error)
}

// openModel returns the models with what is done about every call around them.
func (r *Run) openModel(log *slog.Logger, proven bool) (solver.Models, error) {
	bare, err := r.Model.Open(proven)
	calls := llm.Calls{Log: log}
	if r.Store.Inject != nil {
		calls.At = r.Store.Inject.At
	}
	return func(in dataset.Instance, heard int) (llm.Model, error) {
		model, err := bare(in, heard)
		if err != nil {
			return nil, err
		}
		return calls.Compose(model), nil
	}, err
}

// FindModel returns the model that a configuration names, and what a person should know
// of it. It refuses limits on the cost that could not be kept; costLimit is the run's, 0
// for none.
func FindModel(cfg *config.Config, costLimit float64, getenv func(string) string) (model Model, warning string, err error) {
	m, err := catalogue.Find(modelSettings(cfg, getenv))
	if err != nil {
		return Model{}, "", err
	}
	if m.Cost != catalogue.Known {
		limits := costLimits{total: costLimit, instance: cfg.Agent.CostLimit, given: cfg.Given("agent.cost_limit")}
		warning, err = limits.withoutPrice(m.Name, m.Cost == catalogue.Uncounted)
	}
	open := func(proven bool) (solver.Models, error) {
		models, err := m.Open(proven)
		return func(in dataset.Instance, heard int) (llm.Model, error) {
			return models(catalogue.Attempt{ID: in.ID, Patch: in.Patch, Heard: heard})
		}, err
	}
	return Model{Price: m.Price, Open: open}, warning, err
}

func modelSettings(cfg *config.Config, getenv func(string) string) catalogue.Settings {
	c := cfg.Model
	s := catalogue.Settings{
		Model: c.ModelName, Provider: c.Provider, Kwargs: c.ModelKwargs,
		Registry:    cmp.Or(c.LitellmModelRegistry, getenv("LITELLM_MODEL_REGISTRY_PATH")),
		IgnoreCost:  c.CostTracking == "ignore_errors" || getenv("MSWEA_COST_TRACKING") == "ignore_errors",
		ActionRegex: cfg.ActionForm().Regex, Demo: demo.Files(), Getenv: getenv,
	}
	if c.SetCacheControl != "" || cfg.Origin("model.set_cache_control") != "" {
		s.CacheControl = &c.SetCacheControl
	}
	return s
}
