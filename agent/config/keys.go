package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/agent/compaction"
	"batch.example/batch/internal/near"
)

// Key is a key of a configuration.
type Key struct {
	Path    string   // section.key
	Type    string   // text, template, whole number, number, true or false, list, names and values
	Default string   // what holds where nobody sets it
	Allowed []string // the only values it may have; empty where there is no such list
	Doc     string   // one sentence
}

// describedKey is what a person reads about a key; its type comes from [Config]
// and its default, where empty is "", from batch's built-in default.
type describedKey struct {
	path    string
	empty   string // what an unset or empty value means
	allowed []string
	doc     string
}

var describedKeys = []describedKey{
	{"agent.system_template", "", nil, "The first message: how the model is to work."},
	{"agent.instance_template", "", nil, "The second message: the issue and what to do about it."},
	{"agent.step_limit", "no limit", nil, "Model calls that an attempt, or a turn of a conversation, may make; 0 means no limit."},
	{"agent.cost_limit", "no limit", nil, "US dollars that the answered calls of an attempt, or of a turn of a conversation, may cost; 0 means no limit."},
	{"agent.wall_time_limit_seconds", "no limit", nil, "Seconds that an attempt, or a turn of a conversation, may work, without waits for rate limits; 0 means no limit."},
	{"agent.max_consecutive_format_errors", "no limit", nil, "Replies in a row without a usable command that end an attempt, or a turn of a conversation; 0 means no limit."},
	{"agent.finish_without_calls", "false", nil, "End an attempt with the first reply that calls no tool, with the status Answered; not for the action form text."},
	{"agent.ask", "false", nil, "Offer the tool ask, with which the model asks a person and waits for the answer; for sessions, not for the action form text."},
	{"agent.model_errors", "0", nil, "Calls in a row that may fail after their retries and be shown to the model, which is then called again."},
	{"agent.context_policy", noPolicy, append([]string{noPolicy}, compaction.Names...), "What to do when the conversation is too long: shorten or drop the oldest outputs, or let the model summarize."},
	{"agent.context_limit", "90 % of the window", nil, "Estimated tokens of a request over which agent.context_policy acts; a refusal by the provider counts too."},
	{"agent.context_messages", "no limit", nil, "Messages of a conversation over which agent.context_policy acts, too; for drop and summarize."},
	{"agent.context_keep", strconv.Itoa(compaction.DefaultKeep), nil, "Messages at the end of the conversation that agent.context_policy does not touch; 0 means 8."},
	{"agent.summary_template", "batch's own", nil, "How agent.context_policy=summarize asks for a summary."},
	{mcpServers, "none", nil, "Servers whose tools the agent may use, by name: see `batch help mcp`."},

	{"environment.environment_class", "docker", []string{"docker", "podman"}, "The kind of environment; batch runs containers on the engine that it reaches."},
	{"environment.image", "the instance's image", nil, "Refused: every instance runs in its own image."},
	{"environment.cwd", "", nil, "The directory in the container in which commands start; an absolute path."},
	{"environment.env", "none", nil, "Environment variables of the commands; null removes one of the default."},
	{"environment.forward_env", "none", nil, "Names of variables to take from batch's own environment where they are set."},
	{"environment.timeout", "no limit", nil, "Seconds that one command may take; 0 means no limit."},
	{"environment.executable", "no effect", nil, "Accepted for mini-swe-agent's files; batch talks to the engine itself."},
	{"environment.run_args", "none", nil, "Arguments of docker run, such as [--cpus, \"2\"]; they win over network, memory and cpus."},
	{"environment.container_timeout", "no limit", nil, "Time that an attempt may work, such as 90m or 2h; empty means no limit."},
	{"environment.pull_timeout", "no limit", nil, "Seconds that the pull of one image may take; 0 means no limit."},
	{"environment.interpreter", "", nil, "The program that runs a command, which is its last argument."},
	{"environment.shell", "warm", []string{"warm", "fresh"}, "warm starts the next interpreter while the model thinks; fresh starts it with the command."},
	{"environment.network", "none", nil, "Network of the containers: none, bridge (one for all of them), or the name of an existing one."},
	{"environment.memory", "no limit", nil, "Memory limit of a container, such as 8g; 0 means no limit."},
	{"environment.cpus", "all", nil, "CPUs that a container may use; 0 is all of them."},
	{"environment.disk", "no limit", nil, "Disk that a container's own files may take, such as 20GiB; 0 means no limit."},
	{"environment.keep_git_history", "", nil, "Leave commits after the checked-out one in the images' repositories."},
	{"environment.allow_commit_mismatch", "", nil, "Run an instance also in an image that is not at its row's base_commit."},

	{"model.model_name", "none; -m sets it", nil, "The model, as PROVIDER/NAME, or as model.provider calls it."},
	{"model.model_class", "none", nil, "mini-swe-agent's class of the model; one with textbased in its name asks for commands in text, one with response asks by the Responses API."},
	{"model.provider", "the model name's prefix", nil, "The provider that is asked."},
	{"model.model_kwargs", "none", nil, "Parameters of each model call, such as temperature; also api_key and api_base."},
	{"model.litellm_model_registry", "none", nil, "A JSON file with the prices of further models, in LiteLLM's form."},
	{"model.set_cache_control", "by the provider", []string{"default_end"}, "Mark the end of the conversation for the provider's prompt cache."},
	{"model.cost_tracking", "default", []string{"default", "ignore_errors"}, "ignore_errors runs models also where their price is not known."},
	{"model.requests_per_minute", "learned", nil, "Requests a minute that the provider accepts with one key; 0 learns it from its answers."},
	{"model.tokens_per_minute", "learned", nil, "Tokens a minute that the provider accepts with one key; 0 learns it from its answers."},
	{"model.format_error_template", "the error alone", nil, "The answer to a reply without a usable command."},
	{"model.observation_template", "exit code and output", nil, "What the model sees of a command that has run."},
	{"model.multimodal_regex", "no effect", nil, "Accepted for mini-swe-agent's files; outputs are sent as text."},
	{"model.action_regex", "by the action form", nil, "The regular expression that finds the command in a reply; its group is the command."},
	{"model.action_form", "auto", []string{"auto", "toolcall", "tools", "text"}, "How replies give commands: the tool bash, tools bash and editor, or text; auto chooses by the prompts."},

	{"run.env_startup_command", "none", nil, "A command that prepares each container; it must exit with 0."},
	{"run.mask_patterns", "none", nil, "Regular expressions whose matches are hidden in all files except patches."},
}

// isTemplate are the keys whose text is a Jinja template.
var isTemplate = append(slices.Clone(prompts), "agent.summary_template", "run.env_startup_command")

// Keys lists every key that a configuration may have, section by section.
func Keys() []Key {
	initial, err := Load(nil, Options{})
	if err != nil {
		panic(err) // batch's own configuration is a part of the program
	}
	defaults := map[string]string{"model.action_form": "auto"}
	for _, v := range initial.Values() {
		mapping, isMember := memberOf(v.Path)
		switch _, more := defaults[mapping]; {
		case isMember && more:
			defaults[mapping] += ", " + v.Path[len(mapping)+1:]
		case isMember:
			defaults[mapping] = v.Path[len(mapping)+1:]
		case !v.Unset && defaults[v.Path] == "":
			defaults[v.Path] = v.Text()
		}
	}
	list := make([]Key, 0, len(describedKeys))
	for _, d := range describedKeys {
		k := Key{Path: d.path, Type: typeOf(d.path), Default: d.empty, Allowed: d.allowed, Doc: d.doc}
		if set, ok := defaults[d.path]; ok {
			k.Default = set
		}
		if strings.Contains(k.Default, "\n") {
			k.Default = "see `batch config builtin default`"
		}
		list = append(list, k)
	}
	return list
}

// typeOf is the type of the value at a path, in a person's words.
func typeOf(path string) string {
	if slices.Contains(isTemplate, path) {
		return "template"
	}
	switch new(Config).field(path).Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "whole number"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map:
		return "names and values"
	default:
		return "text"
	}
}

// unknownKey refuses a key, with the one that was probably meant.
func (d *decoder) unknownKey(path string, v *value) {
	d.unknown = true
	if m, ok := v.v.(map[string]*value); ok && len(m) == 1 && !strings.Contains(path, ".") { // agnet.step_limit=5
		for key, item := range m {
			path, v = path+"."+key, item
		}
	}
	meant := near.Hint(nearest(path), "")
	if meant != "" {
		meant = "; " + meant
	}
	d.problem(v, path, "is not a known key%s", meant)
}

// nearest returns the known key that somebody meant by path: of the same name in
// another section, or written nearly so.
func nearest(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if strings.HasPrefix(path, mcpServers+".") {
		meant := near.Name(name, slices.Collect(maps.Keys(fieldsOf(&MCPServer{}))))
		if meant == "" {
			return ""
		}
		return strings.TrimSuffix(path, name) + meant
	}
	var paths, names []string
	byName := map[string]string{}
	for _, d := range describedKeys {
		_, key, _ := strings.Cut(d.path, ".")
		if key == name {
			return d.path
		}
		paths, names = append(paths, d.path), append(names, key)
		byName[key] = d.path
	}
	section, _, inSection := strings.Cut(path, ".")
	if !inSection {
		if best := near.Name(path, []string{"agent", "environment", "model", "run"}); best != "" {
			return best
		}
		return byName[near.Name(path, names)]
	}
	same := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return !strings.HasPrefix(p, section+".") })
	if best := near.Name(path, same); best != "" {
		return best
	}
	if best := near.Name(path, paths); best != "" {
		return best
	}
	return byName[near.Name(name, names)]
}
