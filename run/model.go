package run

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/llm/limit"
	"batch.example/batch/vocab"
)

// Model is the model that a run uses.
type Model struct {
	// Provider is the provider's name in the catalogue. Name is its name for the model;
	// empty for a provider with one model. A model of the caller's own has no provider: results
	// are filed under Name, whatever model the settings name.
	Provider, Name string
	// Wire is the protocol of its endpoint, which a program can speak itself; empty: none.
	Wire string
	// Price is nil when calls are free, when their provider reports the cost, or when
	// the cost is unknown.
	Price *vocab.Price
	// Uncounted is set if no price is known and the model is on this machine, needs no key, or the
	// user does not want costs counted.
	agent.ModelFacts
	Played bool // batch itself plays it: it sees no images, and is not refused for that
	// Unpriced means that costs are not known, or not completely: they cannot be limited.
	Unpriced bool
	// Rewrite keeps conversations within the context; nil leaves them as they are.
	Rewrite func(ctx context.Context, c agent.Conversation) (*agent.Rewriting, error)
	// Open is called once. Proven means that the directory has replies of the model to this
	// configuration.
	Open func(proven bool) (attempt.Models, error)
}

// openModel returns the models, with the layers of [llm.Calls] around each call.
func (r *Run) openModel(log *slog.Logger, proven bool) (attempt.Models, error) {
	calls := llm.Calls{Mask: r.Store.Mask, Log: log}
	if r.Store.Inject != nil {
		calls.At = r.Store.Inject.At
	}
	return r.Model.Compose(calls, proven)
}

// Compose opens the model with the layers of c around each call. It adds the instance's
// name to the log, and uses the model's gate.
func (m Model) Compose(c llm.Calls, proven bool) (attempt.Models, error) {
	bare, err := m.Open(proven)
	return func(in dataset.Instance, heard int) (llm.Model, error) {
		model, err := bare(in, heard)
		if err != nil {
			return nil, err
		}
		c := c
		c.Log = c.Log.With("instance", in.ID)
		if limited, ok := model.(interface{ Gate() llm.Gate }); ok {
			c.Gate = limited.Gate()
		}
		return c.Compose(model), nil
	}, err
}

// Access configures the requests to the models of a process. Runs that share an Access
// share the limits of their keys.
type Access struct {
	Getenv func(string) string // nil: no variable is set
	Dir    string              // where relative paths of the configuration start; empty: the working directory

	// Limits are the keys' limits; nil: calls do not wait for each other.
	Limits *limit.Pool

	// KeyFromTurn means that the turns of sessions bring their keys: see
	// [catalogue.Settings].
	KeyFromTurn bool

	// HTTP and Within are as in [catalogue.Settings]; nil for the defaults.
	HTTP   *http.Client
	Within func(ctx context.Context, instance string) context.Context
}

// FindModel returns the model that a configuration names, and warnings for the user. It
// refuses cost limits that cannot be enforced. CostLimit is the run's limit, 0 for none.
func FindModel(cfg *config.Config, costLimit float64, a Access) (model Model, warnings []string, err error) {
	if a.Getenv == nil {
		a.Getenv = func(string) string { return "" }
	}
	s := ModelSettings(cfg, a.Getenv)
	s.Dir, s.HTTP, s.Within, s.KeyFromTurn = a.Dir, a.HTTP, a.Within, a.KeyFromTurn
	if a.Limits != nil {
		known := limit.Limits{Requests: int64(cfg.Model.RequestsPerMinute), Tokens: int64(cfg.Model.TokensPerMinute)}
		s.Gate = func(provider, base, key string) llm.Gate {
			l := a.Limits.For(provider, base, key)
			l.Restrict(known)
			return l
		}
	}
	m, err := catalogue.Find(s)
	if err != nil {
		return Model{}, nil, err
	}
	if len(m.Dropped) > 0 {
		warnings = append(warnings, "not sent, since the provider does not take them: model_kwargs."+strings.Join(m.Dropped, ", model_kwargs."))
	}
	if m.Cost != catalogue.Known {
		limits := costLimits{total: costLimit, instance: cfg.Agent.CostLimit, given: cfg.Given("agent.cost_limit")}
		warning, err := limits.withoutPrice(priced(m), m.Cost == catalogue.Uncounted)
		if err != nil {
			return Model{}, nil, err
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
	}
	open := func(proven bool) (attempt.Models, error) {
		models, err := m.Open(proven)
		return func(in dataset.Instance, heard int) (llm.Model, error) {
			return models(catalogue.Attempt{ID: in.ID, Patch: in.Patch, Heard: heard})
		}, err
	}
	if err := speaks(cfg, m.Wire); err != nil {
		return Model{}, nil, err
	}
	rewrite, err := contextPolicy(cfg, m)
	return Model{Provider: m.Provider, Name: m.Name, Wire: m.Wire, Price: m.Price, Played: m.Played, ModelFacts: facts(m), Unpriced: m.Cost != catalogue.Known, Rewrite: rewrite, Open: open}, warnings, err
}

// speaks refuses a model whose endpoint speaks another protocol than the agent's program.
func speaks(cfg *config.Config, wire string) error {
	p := &cfg.Agent.Program
	if len(p.Command) == 0 || p.Wire == wire {
		return nil
	}
	return fault.Newf(fault.Usage, "agent.program: the program asks its model by the protocol %s, which the endpoint of model %q is not known to speak", p.Wire, cfg.Model.ModelName).
		WithHint("name a model whose endpoint does: anthropic/NAME speaks messages, openai/NAME and most others chat,\n" +
			"openai/responses/NAME responses, and gemini/NAME gemini; ANTHROPIC_BASE_URL and the like are its address")
}

func facts(m catalogue.Model) agent.ModelFacts {
	return agent.ModelFacts{Window: m.Window, StrictRoles: m.StrictRoles, Uncounted: m.Cost == catalogue.Uncounted, Price: m.Price, Sight: m.Sight}
}

// priced names the model or the service of m that has no known price.
func priced(m catalogue.Model) string {
	if m.Price != nil {
		return fmt.Sprintf("the service tier of model_kwargs with model %q", m.Name)
	}
	if m.Refused != "" {
		return fmt.Sprintf("model %q (its price in the registry is not used: %s)", m.Name, m.Refused)
	}
	return fmt.Sprintf("model %q", m.Name)
}

// contextPolicy returns the configuration's context policy for a model. A played model
// cannot exceed its context, so the policy applies to it only with a limit.
func contextPolicy(cfg *config.Config, m catalogue.Model) (func(context.Context, agent.Conversation) (*agent.Rewriting, error), error) {
	if m.Played && cfg.Agent.ContextLimit == 0 && cfg.Agent.ContextMessages == 0 {
		return nil, nil
	}
	policy, err := cfg.ContextPolicy(m.Window)
	if policy == nil {
		return nil, err
	}
	return policy.Rewrite, err
}

// ModelSettings returns which model a configuration names, and how it is called.
func ModelSettings(cfg *config.Config, getenv func(string) string) catalogue.Config {
	c := cfg.Model
	s := catalogue.Config{
		Model: c.ModelName, Provider: c.Provider, Kwargs: c.ModelKwargs, ReplyEnds: c.ReplyEnds,
		Responses:   strings.Contains(strings.ToLower(c.ModelClass), "response"),
		Registry:    cmp.Or(c.LitellmModelRegistry, getenv("LITELLM_MODEL_REGISTRY_PATH")),
		IgnoreCost:  c.CostTracking == "ignore_errors" || getenv("MSWEA_COST_TRACKING") == "ignore_errors",
		ActionRegex: cfg.ActionForm().Regex, Demo: demo.Files(), Getenv: getenv,
	}
	if c.SetCacheControl != "" || cfg.Origin("model.set_cache_control") != "" {
		s.CacheControl = &c.SetCacheControl
	}
	return s
}

// ModelVariables returns the settings that [ModelSettings] takes from the environment, as
// values of a configuration.
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

// costLimits are limits on the cost of calls, in US dollars; 0 means no limit.
type costLimits struct {
	total    float64 // of all runs into the directory
	instance float64 // agent.cost_limit
	given    bool    // instance was set by the user, not by a file or the default
}

// withoutPrice checks the limits for a model or service without a known price. It refuses a
// limit that the user set, because it could not be enforced, and returns a warning about any
// other limit. Free means that the calls are free, or that the user does not want costs counted.
func (l costLimits) withoutPrice(what string, free bool) (warning string, err error) {
	var lost, ways []string
	if l.total > 0 {
		lost, ways = append(lost, fmt.Sprintf("--cost-limit-total %v", l.total)), append(ways, "leave out --cost-limit-total")
	}
	if l.given && l.instance > 0 {
		lost, ways = append(lost, fmt.Sprintf("agent.cost_limit=%v", l.instance)), append(ways, "-c agent.cost_limit=0")
	}
	if !free {
		ways = append(ways, "-c model.cost_tracking=ignore_errors")
	}
	price := "no price is known for " + what
	problem := "its cost cannot be counted"
	switch {
	case len(lost) > 0:
		problem = strings.Join(lost, " and ") + " cannot be enforced"
	case free && l.instance > 0:
		return fmt.Sprintf("agent.cost_limit (%v) has no effect: %s", l.instance, price), nil
	case free:
		return "", nil
	}
	return "", fault.Newf(fault.Usage, "%s, so %s", price, problem).
		WithHint("`batch models` lists the names that have one;\n"+
			"give its price with -c model.litellm_model_registry=prices.json, a file in the form of LiteLLM's,\n"+
			"or run without a price: %s", strings.Join(ways, ", "))
}
