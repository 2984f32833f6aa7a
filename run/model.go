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
	// Price is nil when calls are free, when their provider reports the cost, or when
	// the cost is unknown.
	Price *vocab.Price
	// Open is called once. Proven means that the directory has replies that this
	// configuration got from its model.
	Open func(proven bool) (solver.Models, error)
}

// openModel returns the models, with the layers of [llm.Calls] around each call.
func (r *Run) openModel(log *slog.Logger, proven bool) (solver.Models, error) {
	bare, err := r.Model.Open(proven)
	calls := llm.Calls{Mask: r.Store.Mask}
	if r.Store.Inject != nil {
		calls.At = r.Store.Inject.At
	}
	return func(in dataset.Instance, heard int) (llm.Model, error) {
		model, err := bare(in, heard)
		if err != nil {
			return nil, err
		}
		c := calls
		c.Log = log.With("instance", in.ID)
		return c.Compose(model), nil
	}, err
}

// FindModel returns the model that a configuration names, and a warning for the user or
// "". It refuses cost limits that cannot be enforced. CostLimit is the run's limit, 0 for none.
func FindModel(cfg *config.Config, costLimit float64, getenv func(string) string) (model Model, warning string, err error) {
	m, err := catalogue.Find(ModelSettings(cfg, getenv))
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

// ModelSettings returns which model a configuration names, and how it is called.
func ModelSettings(cfg *config.Config, getenv func(string) string) catalogue.Settings {
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

// ModelVariables returns what [ModelSettings] takes from the environment, as values of a
// configuration.
func ModelVariables(cfg *config.Config, getenv func(string) string) (list []config.Setting) {
	s := ModelSettings(cfg, getenv)
	if s.Registry != cfg.Model.LitellmModelRegistry {
		list = append(list, config.Setting{Path: "model.litellm_model_registry", Value: s.Registry, Variable: "LITELLM_MODEL_REGISTRY_PATH"})
	}
	if s.IgnoreCost && cfg.Model.CostTracking != "ignore_errors" {
		list = append(list, config.Setting{Path: "model.cost_tracking", Value: "ignore_errors", Variable: "MSWEA_COST_TRACKING"})
	}
	return list
}
