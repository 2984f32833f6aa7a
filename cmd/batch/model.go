package main

import (
	"cmp"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/llm"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/run"
	"batch.example/batch/solver"
)

// model finds the model that a configuration names, and what a person should know of
// it. It refuses limits on the cost that could not be kept; totalLimit is the run's, 0
// for none.
func (a *app) model(cfg *config.Config, totalLimit float64) (model run.Model, warning string, err error) {
	m, err := catalogue.Find(a.modelSettings(cfg))
	if err != nil {
		return run.Model{}, "", err
	}
	if m.Cost != catalogue.Known {
		limits := costLimits{total: totalLimit, instance: cfg.Agent.CostLimit, given: cfg.Given("agent.cost_limit")}
		warning, err = limits.withoutPrice(m.Name, m.Cost == catalogue.Uncounted)
	}
	open := func(proven bool) (solver.Models, error) {
		models, err := m.Open(proven)
		return func(in dataset.Instance, heard int) (llm.Model, error) {
			return models(catalogue.Attempt{ID: in.ID, Patch: in.Patch, Heard: heard})
		}, err
	}
	return run.Model{Price: m.Price, Open: open}, warning, err
}

func (a *app) modelSettings(cfg *config.Config) catalogue.Settings {
	c := cfg.Model
	s := catalogue.Settings{
		Model: c.ModelName, Provider: c.Provider, Kwargs: c.ModelKwargs,
		Registry:    cmp.Or(c.LitellmModelRegistry, a.getenv("LITELLM_MODEL_REGISTRY_PATH")),
		IgnoreCost:  c.CostTracking == "ignore_errors" || a.getenv("MSWEA_COST_TRACKING") == "ignore_errors",
		ActionRegex: cfg.ActionForm().Regex, Demo: demo.Files(), Getenv: a.getenv,
	}
	if c.SetCacheControl != "" || cfg.Origin("model.set_cache_control") != "" {
		s.CacheControl = &c.SetCacheControl
	}
	return s
}
