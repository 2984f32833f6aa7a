package config

import (
	"batch.example/batch/agent/compaction"
	"batch.example/batch/fault"
)

// noPolicy is agent.context_policy where there is none.
const noPolicy = "none"

// contextShare is the part of a model's context, in percent, that is the limit of a context
// policy where no limit is set. The rest is for the answer, and for what the estimate of a
// request leaves out.
const contextShare = 90

// ContextPolicy returns what keeps conversations within the model's context, which has
// window tokens; 0 is not known. It is nil where agent.context_policy is none. Without a
// limit, a policy needs the window. Errors are Usage faults.
func (c *Config) ContextPolicy(window int64) (*compaction.Policy, error) {
	a := &c.Agent
	if a.ContextPolicy == "" {
		return nil, nil
	}
	limit := int64(a.ContextLimit)
	if limit == 0 {
		limit = window * contextShare / 100
	}
	if limit == 0 {
		return nil, fault.Newf(fault.Usage, "agent.context_policy=%s: the length of the context of model %q is not known", a.ContextPolicy, c.Model.ModelName).
			WithHint("set agent.context_limit to the number of tokens over which the policy acts, such as -c agent.context_limit=100000")
	}
	return compaction.New(c.compaction(limit))
}

func (c *Config) compaction(limit int64) compaction.Config {
	a := &c.Agent
	return compaction.Config{
		Policy: a.ContextPolicy, Limit: limit, Keep: a.ContextKeep,
		SummaryTemplate: a.SummaryTemplate, Place: c.placeWithin("agent.summary_template"),
	}
}

// checkContext looks at the settings of the context policy. No policy by name is the same
// as none, also for a directory that was begun without one.
func (c *Config) checkContext() (problems []string) {
	if c.Agent.ContextPolicy == noPolicy {
		c.Agent.ContextPolicy = ""
	}
	if c.Agent.ContextPolicy != "" {
		if _, err := compaction.New(c.compaction(1)); err != nil {
			problems = append(problems, problemOf(err))
		}
		return problems
	}
	for _, path := range []string{"agent.context_limit", "agent.context_keep", "agent.summary_template"} {
		if !c.field(path).IsZero() {
			c.Warnings = append(c.Warnings, c.Origin(path)+": "+path+" has no effect without agent.context_policy")
		}
	}
	return nil
}
