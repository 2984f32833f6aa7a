package config

import (
	"slices"
	"strings"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/agent/compaction"
	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// Config is a whole configuration. The tables in keys.go say what each value is for.
type Config struct {
	Agent       AgentConfig
	Environment EnvironmentConfig
	Model       ModelConfig
	Run         RunConfig

	Warnings []string // what was accepted and has no effect, for a person to read

	places   map[string]place
	mappings map[string]*value // by path, with their keys in order
	shown    []keyText         // by templates, of keys that have no effect
	v1       bool
	earlier  bool // see Options
}

// AgentConfig is the loop's part. A limit of zero means no limit.
type AgentConfig struct {
	SystemTemplate             string
	InstanceTemplate           string
	StepLimit                  int
	CostLimit                  float64 // US dollars
	WallTimeLimitSeconds       int
	MaxConsecutiveFormatErrors int

	// batch's own: see [agent.Config] and agent.AskTool.
	FinishWithoutCalls bool
	Ask                bool
	ModelErrors        int
	Images             bool

	// batch's own: see package compaction.
	ContextPolicy   string // "" is none
	ContextLimit    int    // 0: see [Config.ContextLimit]
	ContextMessages int
	ContextKeep     int // 0 is compaction.DefaultKeep

	MCPServers map[string]MCPServer // batch's own: see package mcp
	Program    ProgramConfig        // batch's own
}

// EnvironmentConfig is the container's part.
type EnvironmentConfig struct {
	EnvironmentClass string
	Image            string
	Cwd              string
	Env              map[string]string // wins over ForwardEnv
	ForwardEnv       []string
	Timeout          float64 // see CommandTimeout
	Executable       string
	RunArgs          []string // see Flags
	ContainerTimeout string   // see Lifetime; mini-swe-agent's containers live so long
	PullTimeout      float64  // see PullLimit
	Interpreter      []string
	Shell            string // batch's own: see FreshShell

	// batch's own: see Flags. RunArgs win over the first three.
	Network string
	Memory  string
	CPUs    float64
	Disk    string

	KeepGitHistory      bool // batch's own, as is the next
	AllowCommitMismatch bool

	Engines []Engine       // batch's own, as is the next
	Pod     map[string]any // see package kube

	flags    RunFlags
	lifetime time.Duration
}

// ModelConfig is the model's part and the form of what it reads and writes.
type ModelConfig struct {
	ModelName            string
	ModelClass           string
	Provider             string // "": the prefix of ModelName
	ModelKwargs          map[string]any
	LitellmModelRegistry string
	SetCacheControl      string
	CostTracking         string
	ReplyEnds            []string
	RequestsPerMinute    int // batch's own, as is the next; 0 is unknown
	TokensPerMinute      int // input and output
	FormatErrorTemplate  string
	ObservationTemplate  string
	MultimodalRegex      string
	ActionRegex          string
	ActionForm           string // batch's own: see [Config.ActionForm]
}

// RunConfig has the settings that are not the agent's, the container's or the model's.
type RunConfig struct {
	EnvStartupCommand string   // Jinja over the instance's fields
	MaskPatterns      []string // batch's own
}

// CommandTimeout limits one command; zero means no limit.
func (e *EnvironmentConfig) CommandTimeout() time.Duration { return seconds(e.Timeout) }

// FreshShell reports whether the interpreter is started for each command.
func (e *EnvironmentConfig) FreshShell() bool { return e.Shell == "fresh" }

// PullLimit limits the pull of one image; zero means no limit.
func (e *EnvironmentConfig) PullLimit() time.Duration { return seconds(e.PullTimeout) }

// Lifetime is container_timeout; zero means no limit.
func (e *EnvironmentConfig) Lifetime() time.Duration { return e.lifetime }

// Forwarded returns the names of the variables of batch's own environment that containers
// get if they are set.
func (e *EnvironmentConfig) Forwarded() []string {
	return slices.Concat(e.flags.ForwardEnv, e.ForwardEnv)
}

// Flags are the run_args over network, memory, cpus and disk.
func (e *EnvironmentConfig) Flags() RunFlags { return e.flags }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Origin says where the value at a dotted path was set: "file:line", "-c" and the
// key=value with its secrets hidden, or a flag; empty for a path that is not set.
func (c *Config) Origin(path string) string { return c.places[path].String() }

// Given reports whether a key=value or a flag set the value at a dotted path, rather than a
// file, an environment variable or the default.
func (c *Config) Given(path string) bool { return c.places[path].byHand() }

// ActionForm is how replies ask for commands: action_form if it is set and not auto;
// otherwise text if the model class, a regular expression or a prompt asks for it; otherwise
// tool calls.
func (c *Config) ActionForm() agent.ActionForm {
	f := c.actionForm()
	f.Ask, f.Pictures = c.Agent.Ask, c.Agent.Images
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
		Limits:              vocab.Limits{Steps: c.Agent.StepLimit, Cost: c.Agent.CostLimit, Time: c.timeLimit()},
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

// StartupCommand is run.env_startup_command; nil without one.
func (c *Config) StartupCommand() (*template.Template, error) {
	const path = "run.env_startup_command"
	if c.Run.EnvStartupCommand == "" {
		return nil, nil
	}
	return template.Parse(path, c.Run.EnvStartupCommand, c.placeWithin(path))
}

// timeLimit is the time that an agent may work. In mini-swe-agent, the container ends and the
// agent continues without it; here the agent ends with a result, and its changes are salvaged.
func (c *Config) timeLimit() time.Duration {
	limit := time.Duration(c.Agent.WallTimeLimitSeconds) * time.Second
	if life := c.Environment.lifetime; limit == 0 || life > 0 && life < limit {
		limit = life
	}
	return limit
}

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

// leastMemory is the smallest limit in bytes that Docker accepts.
const leastMemory = 6 << 20

func (e *EnvironmentConfig) checkImage(say reporter) {
	if e.Image != "" { // which mini-swe-agent's batch runs overwrite, too
		say("is %q, but every instance runs in its own image: give the rows an image_name instead", e.Image)
	}
}

func (e *EnvironmentConfig) checkCwd(say reporter) {
	if !strings.HasPrefix(e.Cwd, "/") {
		say("is %q, expected an absolute path", e.Cwd)
	}
}

func (e *EnvironmentConfig) readLifetime(say reporter) {
	var err error
	if e.lifetime, err = parseSleep(e.ContainerTimeout); err != nil {
		say("%v", err)
	}
}

// readFlags reads run_args over the keys that they win over. The checks of those report
// their mistakes.
func (e *EnvironmentConfig) readFlags(say reporter) {
	e.flags = RunFlags{Network: e.Network, CPUs: e.CPUs}
	e.flags.Memory, _ = parseSize(e.Memory)
	e.flags.Disk, _ = parseSize(e.Disk)
	if err := e.flags.parse(e.RunArgs); err != nil {
		say("%v", err)
	}
}
