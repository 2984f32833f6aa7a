package config

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/agent/compaction"
)

// key is a key of a configuration. The code that reads, checks, lists and writes a
// configuration goes through the table of keys: nothing else lists them all.
type key struct {
	path  string // section.name
	field field
	empty string // what an unset or empty value means; "" if the built-in default always sets one
	doc   string // one sentence
}

func (k key) name() string { return k.path[strings.LastIndexByte(k.path, '.')+1:] }

// Classes are the values of environment.environment_class. Each is an address of package engines,
// which is used if environment.engines names none.
func Classes() []string { return []string{"docker", "podman"} }

// keys is the table of keys, section by section, over the fields of c.
func (c *Config) keys() []key {
	a, e, m, r := &c.Agent, &c.Environment, &c.Model, &c.Run
	return []key{
		{"agent.system_template", jinja(&a.SystemTemplate), "", "The first message: how the model is to work."},
		{"agent.instance_template", jinja(&a.InstanceTemplate), "", "The second message: the issue and what to do about it."},
		{"agent.step_limit", limit(&a.StepLimit), "no limit", "Model calls that an attempt, or a turn of a conversation, may make; 0 means no limit."},
		{"agent.cost_limit", limit(&a.CostLimit), "no limit", "US dollars that the answered calls of an attempt, or of a turn of a conversation, may cost; 0 means no limit."},
		{"agent.wall_time_limit_seconds", limit(&a.WallTimeLimitSeconds), "no limit", "Seconds that an attempt, or a turn of a conversation, may work, without waits for rate limits; 0 means no limit."},
		{"agent.max_consecutive_format_errors", field{to: &a.MaxConsecutiveFormatErrors}, "no limit", "Replies in a row without a usable command that end an attempt, or a turn of a conversation; 0 means no limit."},
		{"agent.finish_without_calls", c.withTools(&a.FinishWithoutCalls), "false", "End an attempt with the first reply that calls no tool, with the status Answered; not for the action form text."},
		{"agent.ask", c.withTools(&a.Ask), "false", "Offer the tool ask, with which the model asks a person and waits for the answer; for sessions, not for the action form text."},
		{"agent.model_errors", limit(&a.ModelErrors), "0", "Calls in a row that may fail after their retries and be shown to the model, which is then called again."},
		{"agent.images", field{to: &a.Images}, "", "Show the model the images of the problem statement that the row's column image_assets lists, and with the editor's view those in the container."},
		{"agent.context_policy", word(&a.ContextPolicy, slices.Concat([]string{noPolicy}, compaction.Names)...), noPolicy, "What to do when the conversation is too long: shorten the oldest outputs and drop them if that is not enough, or drop them."},
		{"agent.context_limit", limit(&a.ContextLimit), "90 % of the window", "Estimated tokens of a request over which agent.context_policy acts; a refusal by the provider counts too."},
		{"agent.context_messages", limit(&a.ContextMessages), "no limit", "Messages of a conversation over which agent.context_policy acts, too; for drop."},
		{"agent.context_keep", limit(&a.ContextKeep), strconv.Itoa(compaction.DefaultKeep), "Messages at the end of the conversation that agent.context_policy does not touch; 0 means 8."},
		{mcpServers, field{to: &a.MCPServers}, "none", "Servers whose tools the agent may use, by name: see `batch help mcp`."},
		{programKey, field{to: &a.Program}, "none", "A program of your own that is the agent: see `batch help agents`."},

		{"environment.environment_class", word(&e.EnvironmentClass, Classes()...), "docker", "The kind of environment; batch runs containers on the engine that it reaches."},
		{"environment.image", field{to: &e.Image, check: e.checkImage}, "the instance's image", "Refused: every instance runs in its own image."},
		{"environment.cwd", field{to: &e.Cwd, check: e.checkCwd}, "", "The directory in the container in which commands start; an absolute path."},
		{"environment.env", field{to: &e.Env}, "none", "Environment variables of the commands; null removes one of the default."},
		{"environment.forward_env", field{to: &e.ForwardEnv}, "none", "Names of variables to take from batch's own environment where they are set."},
		{"environment.timeout", limit(&e.Timeout), "no limit", "Seconds that one command may take; 0 means no limit."},
		{"environment.executable", field{to: &e.Executable}, "no effect", "Accepted for mini-swe-agent's files; batch talks to the engine itself."},
		{"environment.run_args", field{to: &e.RunArgs, check: e.readFlags}, "none", "Arguments of docker run, such as [--cpus, \"2\"]; they win over network, memory and cpus: see batch help migrating."},
		{"environment.container_timeout", field{to: &e.ContainerTimeout, digits: true, check: e.readLifetime}, "no limit", "Time that an attempt may work, such as 90m or 2h; empty means no limit."},
		{"environment.pull_timeout", limit(&e.PullTimeout), "no limit", "Seconds that the pull of one image may take; 0 means no limit."},
		{"environment.interpreter", field{to: &e.Interpreter}, "", "The program that runs a command, which is its last argument."},
		{"environment.shell", word(&e.Shell, "warm", "fresh"), "warm", "warm starts the next interpreter while the model thinks; fresh starts it with the command."},
		{"environment.network", field{to: &e.Network}, "none", "Network of the containers: none, bridge (one for all of them), or the name of an existing one."},
		{"environment.memory", size(&e.Memory, "512m or 8g", leastMemory), "no limit", "Memory limit of a container, such as 8g; 0 means no limit."},
		{"environment.cpus", limit(&e.CPUs), "all", "CPUs that a container may use; 0 is all of them."},
		{"environment.disk", size(&e.Disk, "20GiB", 0), "no limit", "Disk that a container's own files may take, such as 20GiB; 0 means no limit."},
		{"environment.keep_git_history", field{to: &e.KeepGitHistory}, "", "Leave commits after the checked-out one in the images' repositories."},
		{engineList, field{to: &e.Engines, check: e.checkEngines}, "docker", "Engines that run the containers: addresses, or mappings with address, workers, memory and cpus; see `batch help engines`."},
		{podSettings, field{to: &e.Pod}, "none", "Settings of each pod on Kubernetes, such as nodeSelector; see `batch help kubernetes`."},
		{"environment.allow_commit_mismatch", field{to: &e.AllowCommitMismatch}, "", "Run an instance also in an image that is not at its row's base_commit."},

		{"model.model_name", field{to: &m.ModelName}, "none; -m sets it", "The model, as PROVIDER/NAME, or as model.provider calls it."},
		{"model.model_class", field{to: &m.ModelClass}, "none", "mini-swe-agent's class of the model; one with textbased in its name asks for commands in text, one with response asks by the Responses API."},
		{"model.provider", field{to: &m.Provider}, "the model name's prefix", "The provider that is asked."},
		{"model.model_kwargs", field{to: &m.ModelKwargs}, "none", "Parameters of each model call, such as temperature; also api_key and api_base."},
		{"model.litellm_model_registry", field{to: &m.LitellmModelRegistry}, "none", "A JSON file with the prices of further models, in LiteLLM's form."},
		{"model.set_cache_control", word(&m.SetCacheControl, "default_end"), "by the provider", "Mark the end of the conversation for the provider's prompt cache."},
		{"model.cost_tracking", word(&m.CostTracking, "default", "ignore_errors"), "default", "ignore_errors runs models also where their price is not known."},
		{"model.reply_ends", field{to: &m.ReplyEnds}, "none", "Further finish reasons of whole replies, of a provider with words of its own; a run stops at one that is not known."},
		{"model.requests_per_minute", limit(&m.RequestsPerMinute), "by its answers", "Requests a minute that the provider accepts with one key; 0 follows its headers and refusals."},
		{"model.tokens_per_minute", limit(&m.TokensPerMinute), "by its answers", "Tokens a minute that the provider accepts with one key; 0 follows its headers and refusals."},
		{"model.format_error_template", jinja(&m.FormatErrorTemplate), "the error alone", "The answer to a reply without a usable command."},
		{"model.observation_template", jinja(&m.ObservationTemplate), "exit code and output", "What the model sees of a command that has run."},
		{"model.multimodal_regex", field{to: &m.MultimodalRegex}, "no effect", "Accepted for mini-swe-agent's files; outputs are sent as text."},
		{"model.action_regex", field{to: &m.ActionRegex}, "by the action form", "The regular expression that finds the command in a reply; its group is the command."},
		{"model.action_form", word(&m.ActionForm, "auto", "toolcall", "tools", "text"), "auto", "How replies give commands: the tool bash, tools bash and editor, or text; auto chooses by the prompts."},

		{"run.env_startup_command", jinja(&r.EnvStartupCommand), "none", "A command that prepares each container; it must exit with 0."},
		{"run.mask_patterns", patterns(&r.MaskPatterns), "none", "Regular expressions whose matches are hidden in all files except patches."},
	}
}

// keys is the table of the server at a path of a configuration.
func (s *MCPServer) keys(path string) []key {
	return []key{
		{path: path + ".command", field: field{to: &s.Command}},
		{path: path + ".url", field: field{to: &s.URL}},
		{path: path + ".env", field: field{to: &s.Env}},
		{path: path + ".headers", field: field{to: &s.Headers}},
		{path: path + ".inside", field: field{to: &s.Inside}},
		{path: path + ".tools", field: field{to: &s.Tools}},
		{path: path + ".timeout", field: field{to: &s.Timeout}},
	}
}

// Key describes a key of a configuration.
type Key struct {
	Path    string   // section.key
	Type    string   // text, template, whole number, number, true or false, list, names and values
	Default string   // the value of a key that is not set
	Allowed []string // the only values; empty: any value of the type
	Doc     string   // one sentence
}

// Keys lists every key that a configuration may have, section by section.
func Keys() []Key {
	var list []Key
	for _, k := range initial().keys() {
		list = append(list, Key{Path: k.path, Type: k.field.typeName(), Default: k.listed(), Allowed: k.field.allowed, Doc: k.doc})
	}
	return list
}

// initial is batch's own configuration.
func initial() *Config {
	c, err := Load(nil, Options{})
	if err != nil {
		panic(err) // it is a part of the program
	}
	return c
}

// listed is the value for a list of keys; a mapping is its names.
func (k key) listed() string {
	plain := k.field.plain()
	if k.empty != "" && isEmpty(plain) {
		return k.empty
	}
	if members, ok := plain.(map[string]any); ok {
		return strings.Join(slices.Sorted(maps.Keys(members)), ", ")
	}
	text := Value{Value: plain}.Text()
	if strings.Contains(text, "\n") {
		return "see `batch config builtin default`"
	}
	return text
}

// field points to a value and says which values are right.
type field struct {
	// to points to a string, bool, int, float64, []string, map[string]string, map[string]any,
	// map[string]MCPServer, []Engine or ProgramConfig of a [Config].
	to       any
	allowed  []string       // the only texts, unless it is nil
	template bool           // the text is a Jinja template
	digits   bool           // the text may be given as a number
	check    func(reporter) // reports mistakes in a value of the right type; may be nil
}

// reporter reports a problem; it puts the place and the path of the key before the text.
type reporter func(format string, args ...any)

func jinja(to *string) field { return field{to: to, template: true} }

// word is one of some texts, or empty.
func word(to *string, allowed ...string) field {
	return field{to: to, allowed: allowed, check: func(say reporter) {
		if *to != "" && !slices.Contains(allowed, *to) {
			say("is %q, expected %s", *to, oneOf(allowed))
		}
	}}
}

// oneOf lists the expected words.
func oneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return words[last]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// limit is a number that is not negative.
func limit[N int | float64](to *N) field {
	return field{to: to, check: func(say reporter) {
		if *to < 0 {
			say("is negative, expected 0 (no limit) or more")
		}
	}}
}

// size is a number of bytes: 0, or at least the least that Docker accepts.
func size(to *string, example string, least int64) field {
	return field{to: to, digits: true, check: func(say reporter) {
		switch n, err := parseSize(*to); {
		case err != nil || n < 0:
			say("is %q, expected a size such as %s, or 0 for no limit", *to, example)
		case n > 0 && n < least:
			say("is %q, but Docker needs at least 6m for a container", *to)
		}
	}}
}

func parseSize(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return parseBytes(text)
}

// patterns are regular expressions.
func patterns(to *[]string) field {
	return field{to: to, check: func(say reporter) {
		for _, p := range *to {
			if _, err := regexp.Compile(p); err != nil {
				say("has %q, which is not a regular expression: %v", p, err)
			}
		}
	}}
}

// withTools is a setting that needs an action form with tools.
func (c *Config) withTools(to *bool) field {
	return field{to: to, check: func(say reporter) {
		if *to && c.ActionForm().Kind == agent.Text {
			say("needs an action form with tools: in the form text, no reply calls one")
		}
	}}
}

// typeName is the type of the value, in a person's words.
func (f field) typeName() string {
	switch f.to.(type) {
	case *bool:
		return "true or false"
	case *int:
		return "whole number"
	case *float64:
		return "number"
	case *[]string, *[]Engine:
		return "list"
	case *string:
		if f.template {
			return "template"
		}
		return "text"
	default:
		return "names and values"
	}
}

// plain is a copy of the value with the types of JSON.
func (f field) plain() any {
	switch to := f.to.(type) {
	case *[]string:
		list := []any{}
		for _, s := range *to {
			list = append(list, s)
		}
		return list
	case *map[string]string:
		m := map[string]any{}
		for k, s := range *to {
			m[k] = s
		}
		return m
	case *map[string]MCPServer:
		return plainServers(*to)
	case *[]Engine:
		return plainEngines(*to)
	case *ProgramConfig:
		return to.plain()
	case *map[string]any:
		if *to == nil {
			return map[string]any{}
		}
		return *to
	default:
		return reflect.ValueOf(f.to).Elem().Interface()
	}
}
