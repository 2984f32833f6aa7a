package config

import (
	"slices"
	"strings"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/template"
)

// Config is a whole configuration. Keys are mini-swe-agent's.
type Config struct {
	Agent       AgentConfig       `yaml:"agent"`
	Environment EnvironmentConfig `yaml:"environment"`
	Model       ModelConfig       `yaml:"model"`
	Run         RunConfig         `yaml:"run"`

	Warnings []string // what was accepted and has no effect, for a person to read

	places   map[string]place
	mappings map[string]*value // by path; keys of them are in order
	shown    []keyText         // by templates, of keys that have no effect
	v1       bool
}

// AgentConfig is the loop's part. A limit of zero means no limit.
type AgentConfig struct {
	SystemTemplate             string  `yaml:"system_template"`
	InstanceTemplate           string  `yaml:"instance_template"`
	StepLimit                  int     `yaml:"step_limit"`
	CostLimit                  float64 `yaml:"cost_limit"` // US dollars
	WallTimeLimitSeconds       int     `yaml:"wall_time_limit_seconds"`
	MaxConsecutiveFormatErrors int     `yaml:"max_consecutive_format_errors"`

	// batch's own: see [agent.Config] and agent.AskTool.
	FinishWithoutCalls bool `yaml:"finish_without_calls"`
	Ask                bool `yaml:"ask"`
	ModelErrors        int  `yaml:"model_errors"`

	// batch's own: see package compaction.
	ContextPolicy   string `yaml:"context_policy"`   // none, shorten, drop or summarize; empty: none
	ContextLimit    int    `yaml:"context_limit"`    // tokens; 0 is 90 % of the model's context
	ContextMessages int    `yaml:"context_messages"` // 0: any number
	ContextKeep     int    `yaml:"context_keep"`     // messages; 0 is compaction.DefaultKeep
	SummaryTemplate string `yaml:"summary_template"` // empty is compaction.DefaultSummaryTemplate

	MCPServers map[string]MCPServer `yaml:"mcp_servers"` // batch's own: see package mcp; empty: none
}

// EnvironmentConfig is the container's part.
type EnvironmentConfig struct {
	EnvironmentClass string            `yaml:"environment_class"` // docker or podman: containers on the engine that is reached
	Image            string            `yaml:"image"`             // refused: each instance has its own
	Cwd              string            `yaml:"cwd"`
	Env              map[string]string `yaml:"env"`
	ForwardEnv       []string          `yaml:"forward_env"`       // names taken from batch's own environment where set; Env wins
	Timeout          float64           `yaml:"timeout"`           // seconds for a command
	Executable       string            `yaml:"executable"`        // accepted, not used: batch talks to the engine itself
	RunArgs          []string          `yaml:"run_args"`          // as for docker run; read by Flags
	ContainerTimeout string            `yaml:"container_timeout"` // that the agent may work, as sleep takes it; mini-swe-agent's containers live so long
	PullTimeout      float64           `yaml:"pull_timeout"`      // seconds
	Interpreter      []string          `yaml:"interpreter"`
	Shell            string            `yaml:"shell"` // batch's own: warm (default) or fresh, the interpreter started for each command

	// batch's own. The first three hold where run_args say nothing; 0 is no limit.
	Network        string  `yaml:"network"` // none, bridge (one for all of batch's containers), or the name of one that exists
	Memory         string  `yaml:"memory"`  // of a container, such as 8g
	CPUs           float64 `yaml:"cpus"`    // at most, of a container
	Disk           string  `yaml:"disk"`    // that a container's own files may take, such as 20GiB; empty means no limit
	KeepGitHistory bool    `yaml:"keep_git_history"`

	AllowCommitMismatch bool `yaml:"allow_commit_mismatch"` // run in an image that is not at its row's base_commit

	flags    RunFlags
	lifetime time.Duration
}

// ModelConfig is the model's part and the form of what it reads and writes.
type ModelConfig struct {
	ModelName            string         `yaml:"model_name"`  // PROVIDER/NAME, or what Provider calls it
	ModelClass           string         `yaml:"model_class"` // one that is textbased asks for commands in text, one of responses by that API
	Provider             string         `yaml:"provider"`    // who is asked; empty: the name's prefix
	ModelKwargs          map[string]any `yaml:"model_kwargs"`
	LitellmModelRegistry string         `yaml:"litellm_model_registry"`
	SetCacheControl      string         `yaml:"set_cache_control"`   // empty or default_end
	CostTracking         string         `yaml:"cost_tracking"`       // default or ignore_errors
	RequestsPerMinute    int            `yaml:"requests_per_minute"` // batch's own: that each key may make; 0 is not known
	TokensPerMinute      int            `yaml:"tokens_per_minute"`   // batch's own: of input and output, for each key; 0 is not known
	FormatErrorTemplate  string         `yaml:"format_error_template"`
	ObservationTemplate  string         `yaml:"observation_template"`
	MultimodalRegex      string         `yaml:"multimodal_regex"`
	ActionRegex          string         `yaml:"action_regex"`
	ActionForm           string         `yaml:"action_form"` // batch's own: auto, toolcall, tools or text
}

// RunConfig is what happens around the agent.
type RunConfig struct {
	EnvStartupCommand string   `yaml:"env_startup_command"` // Jinja over the instance's fields; must exit with 0
	MaskPatterns      []string `yaml:"mask_patterns"`       // batch's own: regular expressions of what is hidden in all files except patches
}

// CommandTimeout limits one command; zero means no limit.
func (e *EnvironmentConfig) CommandTimeout() time.Duration { return seconds(e.Timeout) }

// FreshShell reports whether the interpreter is started for each command.
func (e *EnvironmentConfig) FreshShell() bool { return e.Shell == "fresh" }

// PullLimit limits the pull of one image; zero means no limit.
func (e *EnvironmentConfig) PullLimit() time.Duration { return seconds(e.PullTimeout) }

// Lifetime is container_timeout; zero is without end.
func (e *EnvironmentConfig) Lifetime() time.Duration { return e.lifetime }

// Forwarded are the variables of batch's own environment that containers get where
// they are set.
func (e *EnvironmentConfig) Forwarded() []string {
	return slices.Concat(e.flags.ForwardEnv, e.ForwardEnv)
}

// Flags are the run_args, read, over network, memory and cpus.
func (e *EnvironmentConfig) Flags() RunFlags { return e.flags }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Origin says where the value at a dotted path was set: "file:line", "-c" and the
// key=value with its secrets hidden, or a flag; empty for a path that nobody set.
func (c *Config) Origin(path string) string { return c.places[path].String() }

// Given reports whether the value at a dotted path was set by a key=value or a flag, and
// so by somebody who meant just this value, rather than by a file or the default.
func (c *Config) Given(path string) bool { return c.places[path].byHand() }

// ActionForm is how replies ask for commands: as action_form says, else text
// where the model class, a regular expression or a prompt asks for it, else tool calls.
func (c *Config) ActionForm() agent.ActionForm {
	f := c.actionForm()
	f.Ask = c.Agent.Ask
	return f
}

func (c *Config) actionForm() agent.ActionForm {
	m := &c.Model
	text := agent.ActionForm{Kind: agent.Text, Regex: m.ActionRegex}
	switch m.ActionForm {
	case "toolcall":
		return agent.ActionForm{Kind: agent.ToolCall}
	case "tools":
		return agent.ActionForm{Kind: agent.Tools}
	case "text":
		return text
	}
	prompts := c.Agent.SystemTemplate + c.Agent.InstanceTemplate
	if m.ActionRegex != "" || strings.Contains(strings.ToLower(m.ModelClass), "textbased") ||
		strings.Contains(prompts, "```mswea_bash_command") {
		return text
	}
	return agent.ActionForm{Kind: agent.ToolCall}
}

// Loop returns the loop's configuration.
func (c *Config) Loop() agent.Config {
	formatErrors := c.Agent.MaxConsecutiveFormatErrors
	if formatErrors <= 0 {
		formatErrors = -1
	}
	return agent.Config{
		SystemTemplate:      c.Agent.SystemTemplate,
		InstanceTemplate:    c.Agent.InstanceTemplate,
		ObservationTemplate: c.Model.ObservationTemplate,
		FormatErrorTemplate: c.Model.FormatErrorTemplate,
		StepLimit:           c.Agent.StepLimit,
		CostLimit:           c.Agent.CostLimit,
		WallTimeLimit:       c.timeLimit(),
		MaxFormatErrors:     formatErrors,
		FinishWithoutCalls:  c.Agent.FinishWithoutCalls,
		ModelErrors:         c.Agent.ModelErrors,
		Actions:             c.ActionForm(),
		Vars:                c.Vars(),
		Place:               c.placeWithin,
	}
}

// placeWithin names the places in the template at a dotted path.
func (c *Config) placeWithin(path string) func(offset int) string {
	at, ok := c.places[path]
	if !ok {
		return nil
	}
	return at.within
}

// StartupCommand is run.env_startup_command; nil where there is none.
func (c *Config) StartupCommand() (*template.Template, error) {
	const path = "run.env_startup_command"
	if c.Run.EnvStartupCommand == "" {
		return nil, nil
	}
	return template.Parse(path, c.Run.EnvStartupCommand, c.placeWithin(path))
}

// timeLimit is how long an agent may work. Where mini-swe-agent lets the container
// die under the agent, which then works on nothing, the agent's time is up here: it
// ends with a result, and what it did is salvaged.
func (c *Config) timeLimit() time.Duration {
	limit := time.Duration(c.Agent.WallTimeLimitSeconds) * time.Second
	if life := c.Environment.lifetime; limit == 0 || life > 0 && life < limit {
		limit = life
	}
	return limit
}
