package config

import (
	"cmp"
	"strings"
)

// Resolved is the configuration as it took effect, section by section, for
// manifests and trajectories: JSON-safe, secrets masked, owned by the caller.
func (c *Config) Resolved() map[string]any {
	all := map[string]any{}
	for _, k := range c.keys() {
		section, name, _ := strings.Cut(k.path, ".")
		if all[section] == nil {
			all[section] = map[string]any{}
		}
		plain := k.field.plain()
		if (k.path == mcpServers || k.path == engineList || k.path == podSettings) && isEmpty(plain) {
			continue // the same as in a directory that was begun without this key
		}
		all[section].(map[string]any)[name] = hide(name, plain)
	}
	all["model"].(map[string]any)["action_form"] = c.ActionForm().Kind.String()
	return all
}

// Vars are the values that templates may show. As in mini-swe-agent, all sections are in one
// map: agent, then environment, then model. Batch does not need executable, output_path and
// run_args: if they are not set, they are mini-swe-agent's defaults. The network is the one
// that containers get, from run_args or environment.network.
func (c *Config) Vars() map[string]any {
	vars, all := map[string]any{}, c.Resolved()
	for _, section := range []string{"agent", "environment", "model"} {
		for key, v := range all[section].(map[string]any) {
			vars[key] = cmp.Or(c.mappings[section+"."+key], &value{}).ordered(v)
		}
	}
	// A time-out reads as "60 seconds", not "60.0 seconds".
	for _, key := range []string{"timeout", "pull_timeout"} {
		if f, ok := vars[key].(float64); ok && f == float64(int(f)) {
			vars[key] = int(f)
		}
	}
	vars["executable"], vars["output_path"] = "docker", nil
	for _, s := range c.shown {
		vars[s.key] = s.text
	}
	if _, given := c.places["environment.run_args"]; !given {
		vars["run_args"] = []any{"--rm"} // mini-swe-agent's default; batch removes all containers
	}
	vars["network"] = cmp.Or(c.Environment.Flags().Network, "none")
	return vars
}
