// Package config reads the agent's configuration: mini-swe-agent's YAML files,
// unchanged, and key=value settings, merged from left to right over a default
// of batch's own.
//
// If a file does not exist, the error says how to get it.
// The built-in configurations (default, text, tools) are batch's own and have
// these names alone: no file name means them. The configurations of mini-swe-agent are
// files of that program. [Config.Prompts] says where the prompts come from.
//
// Reading is strict where mini-swe-agent's is not: an unknown key, a
// value of the wrong type and a container flag that would have no effect are
// Usage faults that name the file, the line and what was expected. A mistake in a
// template names the column too. [Keys] lists all keys, and [Config.Values] the values that
// take effect with their sources.
package config
