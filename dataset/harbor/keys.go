package harbor

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"batch.example/batch/internal/near"
)

// State says what batch does with a key of task.toml.
type State string

// The states of a key.
const (
	Done    State = "done"    // batch does what it says
	Ignored State = "ignored" // it changes no reward
	Refused State = "refused" // a task that has it, with a value that is not empty, is not run
)

// Key is a key of task.toml.
type Key struct {
	Path  string // such as environment.cpus; tables of a list have the path of the list; * is any name
	State State
	Means string // what it means, or why it is not done
}

// Keys returns all keys of the format, schema 1.4.
func Keys() []Key { return slices.Clone(keys) }

const hostsWhy = "a network that reaches only some hosts is not supported"

var keys = []Key{
	{"schema_version", Done, "1.x"},
	{"version", Ignored, "the earlier name of schema_version"},
	{"source", Ignored, "where the task is from"},
	{"artifacts", Done, "what a verifier in an environment of its own gets"},
	{"artifacts.source", Done, "a path of the agent's container"},
	{"artifacts.destination", Ignored, "the place among the results"},
	{"artifacts.exclude", Done, "patterns of what is left out"},
	{"artifacts.service", Done, "main"},
	{"multi_step_reward_strategy", Ignored, "of tasks with steps"},
	{"task.name", Done, "the name, from which instance_id is made"},
	{"task.version", Ignored, "for people"},
	{"task.description", Ignored, "for people"},
	{"task.authors", Ignored, "for people"},
	{"task.authors.name", Ignored, "for people"},
	{"task.authors.email", Ignored, "for people"},
	{"task.keywords", Ignored, "for people"},
	{"metadata.*", Ignored, "for people"},
	{"agent.timeout_sec", Done, "limit of an attempt's working time"},
	{"agent.user", Done, "user of the agent's commands"},
	{"agent.network_mode", Done, "network while the agent works"},
	{"agent.allowed_hosts", Refused, hostsWhy},
	{"verifier.timeout_sec", Done, "limit of tests/test.sh"},
	{"verifier.env.*", Done, "variables of tests/test.sh"},
	{"verifier.user", Done, "user of tests/test.sh"},
	{"verifier.network_mode", Done, "network of tests/test.sh"},
	{"verifier.allowed_hosts", Refused, hostsWhy},
	{"verifier.environment_mode", Done, "shared or separate"},
	{"verifier.environment", Done, "the verifier's own environment, with the keys of environment"},
	{"verifier.collect.command", Done, "runs in the agent's container, before the artifacts are taken"},
	{"verifier.collect.service", Done, "main"},
	{"verifier.collect.timeout_sec", Done, "limit of the command"},
	{"verifier.collect.user", Done, "user of the command"},
	{"environment.build_timeout_sec", Done, "limit of the build of environment/Dockerfile"},
	{"environment.docker_image", Done, "the image, in place of environment/Dockerfile"},
	{"environment.os", Done, "linux"},
	{"environment.cpus", Done, "limit of the container"},
	{"environment.memory_mb", Done, "limit of the container"},
	{"environment.storage_mb", Done, "limit of the container"},
	{"environment.memory", Done, "the earlier form of memory_mb"},
	{"environment.storage", Done, "the earlier form of storage_mb"},
	{"environment.gpus", Refused, "containers get no GPU"},
	{"environment.gpu_types", Refused, "containers get no GPU"},
	{"environment.tpu.*", Refused, "containers get no TPU"},
	{"environment.env.*", Done, "variables of all commands"},
	{"environment.workdir", Done, "directory of all commands"},
	{"environment.skills_dir", Refused, "skills of an agent are not supported"},
	{"environment.healthcheck.*", Refused, "waiting for a health check is not supported"},
	{"environment.mcp_servers.*", Refused, "MCP servers of a task are not supported"},
	{"environment.network_mode", Done, "public or no-network"},
	{"environment.allowed_hosts", Refused, hostsWhy},
	{"environment.allow_internet", Done, "the earlier form of network_mode"},
	{"solution.env.*", Done, "variables of solution/solve.sh"},
	{"steps.*", Refused, "tasks of several steps are not supported"},
}

// present is a key in a file, with its value.
type present struct {
	path  string
	value any
}

// leaves appends the keys of a table that is at a path, sorted: tables that have members are not keys
// themselves. A list of tables is the members of all of them.
func leaves(list []present, at string, v any) []present {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list = leaves(list, strings.TrimPrefix(at+"."+name, "."), v[name])
		}
		return list
	case []map[string]any:
		for _, table := range v {
			list = leaves(list, at, table)
		}
		return list
	case []any: // of tables in braces
		if len(v) > 0 {
			if _, tables := v[0].(map[string]any); tables {
				for _, table := range v {
					list = leaves(list, at, table)
				}
				return list
			}
		}
	}
	return append(list, present{at, v})
}

// find returns the table's entry for a key.
func find(path string) (Key, bool) {
	if own, ok := strings.CutPrefix(path, "verifier.environment."); ok {
		path = "environment." + own
	}
	for _, k := range keys {
		table, open := strings.CutSuffix(k.Path, ".*")
		if path == table || open && strings.HasPrefix(path, table+".") {
			return k, true
		}
	}
	return Key{}, false
}

// sortKeys divides the keys of a file: reasons not to run the task, and names of unknown keys.
func sortKeys(file map[string]any) (refused, unknown []string) {
	for _, p := range leaves(nil, "", file) {
		k, known := find(p.path)
		switch {
		case !known:
			unknown = append(unknown, unknownKey(p.path))
		case k.State == Refused && !empty(p.value):
			refused = append(refused, fmt.Sprintf("task.toml: %s: %s", p.path, k.Means))
		}
	}
	return slices.Compact(refused), unknown
}

// unknownKey says that there is no such key, and which was probably meant.
func unknownKey(path string) string {
	text := path + " is no key of task.toml, and is ignored"
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Path
	}
	if n := near.Name(path, names); n != "" {
		text += ": did you mean " + n + "?"
	}
	return text
}

// empty reports whether a value asks for nothing.
func empty(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || r.IsZero() || r.Kind() == reflect.Slice && r.Len() == 0
}
