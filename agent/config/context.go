package config

import (
	"batch.example/batch/agent/compaction"
	"batch.example/batch/fault"
)

// noPolicy is the name in agent.context_policy for no policy.
const noPolicy = "none"

// contextShare is the part of a model's context, in percent, that is the limit of a context
// policy where no limit is set. The rest is for the answer, and for what the estimate of a
// request leaves out.
const contextShare = 90

// ContextPolicy returns the policy that keeps conversations within the model's context of
// window tokens; 0 is unknown. It is nil if agent.context_policy is none. Without a
// limit of tokens or messages, a policy needs the window. Errors are Usage faults.
func (c *Config) ContextPolicy(window int64) (*compaction.Policy, error) {
	a := &c.Agent
	if a.ContextPolicy == "" {
		return nil, nil
	}
	limit := c.ContextLimit(window)
	if limit == 0 && a.ContextMessages == 0 {
		return nil, fault.Newf(fault.Usage, "agent.context_policy=%s: the length of the context of model %q is not known", a.ContextPolicy, c.Model.ModelName).
			WithHint("set agent.context_limit to the number of tokens over which the policy acts, such as -c agent.context_limit=100000")
	}
	return compaction.New(c.compaction(limit))
}

// ContextLimit returns the number of tokens above which a conversation is long for a model
// with a context of window tokens; 0 is unknown.
func (c *Config) ContextLimit(window int64) int64 {
	if limit := c.Agent.ContextLimit; limit != 0 {
		return int64(limit)
	}
	return window * contextShare / 100
}

func (c *Config) compaction(limit int64) compaction.Config {
	a := &c.Agent
	return compaction.Config{Policy: a.ContextPolicy, Limit: limit, Messages: a.ContextMessages, Keep: a.ContextKeep}
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
	if c.earlier { // the policy may be what was left out
		return nil
	}
	effects := map[string]string{
		"agent.context_limit":    "only warns, and in a chat only,",
		"agent.context_messages": "only warns, and in a chat only,",
		"agent.context_keep":     "has no effect",
	}
	for _, k := range c.keys() {
		if effect := effects[k.path]; effect != "" && !isEmpty(k.field.plain()) {
			c.Warnings = append(c.Warnings, c.Origin(k.path)+": "+k.path+" "+effect+" without agent.context_policy")
		}
	}
	return nil
}
