package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
)

// Load reads specs, each a file, one of batch's own names or key=value, and merges them
// from left to right over the default: mappings key by key, lists and scalars
// replace. An error is a Usage fault that lists all mistakes.
func Load(specs []string, opts Options) (*Config, error) {
	merged, err := readBuiltin("default")
	if err != nil {
		return nil, err
	}
	c := &Config{places: map[string]place{}, mappings: map[string]*value{}}
	over := func(v *value, err error) error {
		if err == nil {
			err = c.adopt(v)
		}
		if err == nil {
			merged = merge(merged, v)
		}
		return err
	}
	for _, spec := range specs {
		v, warning, err := readSpec(spec, opts)
		if warning != "" {
			c.Warnings = append(c.Warnings, warning)
		}
		if err := over(v, err); err != nil {
			return nil, err
		}
	}
	for _, s := range opts.Set {
		if err := over(s.value()); err != nil {
			return nil, err
		}
	}
	d := decoder{places: c.places, mappings: c.mappings}
	d.section("", merged, c)
	if c.v1 && c.Model.ActionRegex == "" { // which that version asked for
		c.Model.ActionRegex = agent.OldRegex
		c.places["model.action_regex"] = c.places["model.observation_template"]
	}
	if len(d.found) == 0 {
		d.problems = c.check(opts)
	}
	return c, d.refuse()
}

// unused are keys of mini-swe-agent that have no effect in a batch run.
var unused = []string{
	"agent.mode", "agent.whitelist_actions", "agent.confirm_exit", "agent.output_path", "agent.timeout_template",
	"agent.agent_class", "environment.executable",
}

// shown are unused keys that templates may show all the same, as in mini-swe-agent.
var shown = []string{"agent.output_path", "environment.executable"}

// keyText is the value of a key that has no effect.
type keyText struct{ key, text string }

// moved are keys of mini-swe-agent's first version that stand elsewhere now.
var moved = [][2]string{
	{"action_observation_template", "observation_template"},
	{"format_error_template", "format_error_template"},
	{"action_regex", "action_regex"},
}

// adopt maps a source's older keys and takes out those without effect. It
// refuses an environment that is not a container here, before the keys that
// only such an environment knows are called unknown.
func (c *Config) adopt(v *value) error {
	for _, path := range unused {
		section, key, _ := strings.Cut(path, ".")
		m := child(v, section)
		old, ok := m[key]
		if !ok {
			continue
		}
		delete(m, key)
		if old.v != nil && slices.Contains(shown, path) {
			c.shown = append(c.shown, keyText{key, old.text})
		}
		if old.v != nil && !(key == "executable" && (old.v == "docker" || old.v == "podman")) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s: %s has no effect in a batch run", old.at, path))
		}
	}
	if class, ok := child(v, "environment")["environment_class"]; ok && class.v != nil {
		if class.v != "docker" && class.v != "podman" {
			return fault.Newf(fault.Usage, "reading the configuration: %s: environment.environment_class %v is not supported", class.at, class.v).
				WithHint("batch runs containers: use docker or podman, or leave the key out")
		}
	}
	for _, m := range moved {
		old, ok := child(v, "agent")[m[0]]
		if !ok {
			continue
		}
		delete(child(v, "agent"), m[0])
		if m[0] == "action_observation_template" {
			c.v1 = true
		}
		top := v.v.(map[string]*value)
		if child(v, "model") == nil {
			top["model"] = &value{v: map[string]*value{}, at: old.at}
		}
		if _, given := child(v, "model")[m[1]]; !given {
			child(v, "model")[m[1]] = old
		}
	}
	return nil
}

// child returns the mapping at key, or nil.
func child(v *value, key string) map[string]*value {
	m, _ := v.v.(map[string]*value)
	if c, ok := m[key]; ok {
		m, _ = c.v.(map[string]*value)
		return m
	}
	return nil
}

// check looks at values that have the right type and may still be wrong.
func (c *Config) check(opts Options) (problems []string) {
	say := func(path, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s: %s %s", c.places[path], path, fmt.Sprintf(format, args...)))
	}
	c.checkWords(say)
	if c.Environment.Image != "" { // which mini-swe-agent's batch runs overwrite, too
		say("environment.image", "is %q, but every instance runs in its own image: give the rows an image_name instead", c.Environment.Image)
	}
	if !strings.HasPrefix(c.Environment.Cwd, "/") {
		say("environment.cwd", "is %q, expected an absolute path", c.Environment.Cwd)
	}
	for path, n := range map[string]float64{
		"environment.timeout": c.Environment.Timeout, "environment.pull_timeout": c.Environment.PullTimeout,
		"environment.cpus": c.Environment.CPUs,
		"agent.step_limit": float64(c.Agent.StepLimit), "agent.cost_limit": c.Agent.CostLimit,
		"agent.wall_time_limit_seconds": float64(c.Agent.WallTimeLimitSeconds),
		"model.requests_per_minute":     float64(c.Model.RequestsPerMinute), "model.tokens_per_minute": float64(c.Model.TokensPerMinute),
		"agent.context_limit": float64(c.Agent.ContextLimit), "agent.context_keep": float64(c.Agent.ContextKeep),
		"agent.context_messages": float64(c.Agent.ContextMessages),
		"agent.model_errors":     float64(c.Agent.ModelErrors),
	} {
		if n < 0 {
			say(path, "is negative, expected 0 (no limit) or more")
		}
	}
	for path, set := range map[string]bool{"agent.finish_without_calls": c.Agent.FinishWithoutCalls, "agent.ask": c.Agent.Ask} {
		if set && c.ActionForm().Kind == agent.Text {
			say(path, "needs an action form with tools: in the form text, no reply calls one")
		}
	}
	for _, p := range c.Run.MaskPatterns {
		if _, err := regexp.Compile(p); err != nil {
			say("run.mask_patterns", "has %q, which is not a regular expression: %v", p, err)
		}
	}
	var err error
	if c.Environment.lifetime, err = parseSleep(c.Environment.ContainerTimeout); err != nil {
		say("environment.container_timeout", "%v", err)
	}
	flags := RunFlags{Network: c.Environment.Network, CPUs: c.Environment.CPUs}
	if c.Environment.Memory != "" {
		if flags.Memory, err = parseBytes(c.Environment.Memory); err != nil || flags.Memory < 0 {
			say("environment.memory", "is %q, expected a size such as 512m or 8g, or 0 for no limit", c.Environment.Memory)
		} else if flags.Memory > 0 && flags.Memory < leastMemory {
			say("environment.memory", "is %q, but Docker needs at least 6m for a container", c.Environment.Memory)
		}
	}
	if c.Environment.Disk != "" {
		if flags.Disk, err = parseBytes(c.Environment.Disk); err != nil || flags.Disk < 0 {
			say("environment.disk", "is %q, expected a size such as 20GiB, or 0 for no limit", c.Environment.Disk)
		}
	}
	if err = flags.parse(c.Environment.RunArgs); err != nil {
		say("environment.run_args", "%v", err)
	}
	c.Environment.flags = flags
	if c.Model.MultimodalRegex != "" {
		c.Warnings = append(c.Warnings, c.Origin("model.multimodal_regex")+": model.multimodal_regex has no effect: outputs are sent as text")
	}
	if class := strings.ToLower(c.Model.ModelClass); class != "" && !strings.Contains(class, "litellm") && !strings.Contains(class, "textbased") && !strings.Contains(class, "response") {
		c.Warnings = append(c.Warnings, c.Origin("model.model_class")+": model.model_class has no effect: the model's name, or model.provider, says who is asked")
	}
	slices.Sort(problems)
	if len(problems) == 0 {
		problems = c.checkLoop()
	}
	c.warnOfNoTask()
	return problems
}

// usesTask matches a template that uses the variable task.
var usesTask = lazy.Regexp(`\{[{%][^}]*\btask\b`)

// warnOfNoTask warns of prompts that do not show the model what to do.
func (c *Config) warnOfNoTask() {
	if a := &c.Agent; usesTask().MatchString(a.SystemTemplate) || usesTask().MatchString(a.InstanceTemplate) {
		return
	}
	c.Warnings = append(c.Warnings, c.Origin("agent.instance_template")+": neither agent.instance_template nor agent.system_template shows {{ task }}: the model never sees the issue")
}

// problemOf is an error with its hint.
func problemOf(err error) string {
	problem := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		problem += "; " + hint
	}
	return problem
}

// leastMemory is the smallest limit in bytes that Docker accepts.
const leastMemory = 6 << 20

// checkWords looks at values of which there is a list.
func (c *Config) checkWords(say func(path, format string, args ...any)) {
	for _, k := range describedKeys {
		got, _ := c.field(k.path).Interface().(string)
		if k.allowed != nil && got != "" && !slices.Contains(k.allowed, got) {
			say(k.path, "is %q, expected %s", got, oneOf(k.allowed))
		}
	}
}

// oneOf lists words of which one is expected.
func oneOf(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return words[last]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// checkLoop parses the templates and the regular expression once, so that a
// typing error stops the run before anything has started.
func (c *Config) checkLoop() (problems []string) {
	for _, path := range isTemplate {
		_, err := template.Parse(path, c.field(path).String(), c.placeWithin(path))
		if err == nil {
			continue
		}
		problems = append(problems, problemOf(err))
	}
	if len(problems) == 0 {
		problems = append(c.checkContext(), c.checkMCP()...)
	}
	if len(problems) > 0 {
		return problems
	}
	if _, err := agent.NewLoop(c.Loop()); err != nil {
		return []string{err.Error()}
	}
	return nil
}
