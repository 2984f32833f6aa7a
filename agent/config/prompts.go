package config

import (
	"slices"
	"strings"
)

// prompts are the templates of all messages that a model gets from batch.
var prompts = []string{
	"agent.system_template", "agent.instance_template", "model.observation_template", "model.format_error_template",
}

// Prompts names the source of the prompts: "batch's built-in default", the name of a
// file, or several sources, each with the templates that it sets.
func (c *Config) Prompts() string {
	var sources []string
	templates := map[string][]string{}
	for _, path := range prompts {
		at := c.places[path]
		source := at.source
		if at.byHand() { // which may hold the whole prompt
			source = at.key()
		}
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
		_, name, _ := strings.Cut(path, ".")
		templates[source] = append(templates[source], name)
	}
	if len(sources) == 1 {
		return sources[0]
	}
	for i, source := range sources {
		sources[i] = source + " (" + strings.Join(templates[source], ", ") + ")"
	}
	return strings.Join(sources, ", ")
}
