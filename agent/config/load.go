package config

import (
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/agent"
	"batch.example/batch/agent/template"
	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/removed"
)

// Load reads specs and merges them from left to right over the default. A spec is a file, one
// of batch's own names or key=value. Mappings are merged key by key; lists and scalars
// replace. An error is a Usage fault that lists all mistakes.
func Load(specs []string, opts Options) (*Config, error) {
	merged, err := readBuiltin("default")
	if err != nil {
		return nil, err
	}
	c := &Config{places: map[string]place{}, mappings: map[string]*value{}, earlier: opts.Earlier}
	over := func(v *value, err error) error {
		if err == nil && opts.Earlier {
			leaveOutRemoved(v)
		}
		if err == nil {
			err = c.adopt(v)
		}
		if err == nil {
			merged = merge(merged, v, 0)
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
	d.section("", merged, c.keys())
	if c.v1 && c.Model.ActionRegex == "" { // that version's default
		c.Model.ActionRegex = agent.OldRegex
		c.places["model.action_regex"] = c.places["model.observation_template"]
	}
	if len(d.found) == 0 {
		d.problems = c.check()
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

// moved are keys of the section agent in mini-swe-agent's first version, by their names in
// the section model now.
var moved = map[string]string{
	"action_observation_template": "observation_template",
	"format_error_template":       "format_error_template",
	"action_regex":                "action_regex",
}

// adopt renames a source's older keys and removes keys without effect. It refuses an
// environment that is not a container here, since the decoder would report the keys of such
// an environment as unknown.
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
		if name, _ := class.v.(string); !slices.Contains(Classes(), name) {
			return fault.Newf(fault.Usage, "reading the configuration: %s: environment.environment_class %v is not supported", class.at, class.v).
				WithHint("batch runs containers: use %s, or leave the key out", oneOf(Classes()))
		}
	}
	for old, now := range moved {
		item, ok := child(v, "agent")[old]
		if !ok {
			continue
		}
		delete(child(v, "agent"), old)
		c.v1 = c.v1 || old == "action_observation_template"
		model := &value{v: map[string]*value{now: item}, at: item.at}
		*v = *merge(&value{v: map[string]*value{"model": model}}, v, 0)
	}
	return nil
}

// leaveOutRemoved takes the keys and values that batch had once out of a source.
func leaveOutRemoved(v *value) {
	sections, _ := v.v.(map[string]*value)
	for section := range sections {
		keys := child(v, section)
		for name, item := range keys {
			path := section + "." + name
			text, _ := item.v.(string)
			if removed.Instead(path) != "" || removed.Instead(path+"="+text) != "" {
				delete(keys, name)
			}
		}
	}
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
func (c *Config) check() (problems []string) {
	for _, k := range c.keys() {
		value, _ := k.field.plain().(string)
		if instead := removed.Instead(k.path + "=" + value); instead != "" {
			problems = append(problems, fmt.Sprintf("%s: %s=%s was removed: %s", c.places[k.path], k.path, value, instead))
			continue
		}
		if k.field.check == nil {
			continue
		}
		k.field.check(func(format string, args ...any) {
			problems = append(problems, fmt.Sprintf("%s: %s %s", c.places[k.path], k.path, fmt.Sprintf(format, args...)))
		})
	}
	c.warnOfNoEffect()
	if slices.Sort(problems); len(problems) == 0 {
		problems = c.checkLoop()
	}
	c.warnOfNoTask()
	return problems
}

// warnOfNoEffect warns of values of mini-swe-agent that mean nothing here.
func (c *Config) warnOfNoEffect() {
	if c.Model.MultimodalRegex != "" {
		c.Warnings = append(c.Warnings, c.Origin("model.multimodal_regex")+": model.multimodal_regex has no effect: outputs are sent as text")
	}
	if class := strings.ToLower(c.Model.ModelClass); class != "" && !strings.Contains(class, "litellm") && !strings.Contains(class, "textbased") && !strings.Contains(class, "response") {
		c.Warnings = append(c.Warnings, c.Origin("model.model_class")+": model.model_class has no effect: the model's name, or model.provider, says who is asked")
	}
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

// checkLoop parses the templates and the regular expression once, so that a
// typing error stops the run before anything has started.
func (c *Config) checkLoop() (problems []string) {
	keys := c.keys()
	slices.SortStableFunc(keys, func(a, b key) int { return c.places[a.path].compare(c.places[b.path]) })
	for _, k := range keys {
		if !k.field.template {
			continue
		}
		if _, err := template.Parse(k.path, *k.field.to.(*string), c.placeWithin(k.path)); err != nil {
			problems = append(problems, problemOf(err))
		}
	}
	if len(problems) == 0 {
		problems = slices.Concat(c.checkContext(), c.checkMCP(), c.checkProgram())
	}
	if len(problems) > 0 {
		return problems
	}
	if _, err := agent.NewLoop(c.Loop()); err != nil {
		return []string{err.Error()}
	}
	return nil
}
