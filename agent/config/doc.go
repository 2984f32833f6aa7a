// Package config reads the agent's configuration: mini-swe-agent's YAML files,
// unchanged, and key=value settings, merged from left to right over a default
// of our own.
//
// Reading is strict where the peer's is not: a key that nobody knows, a value
// of the wrong type and a container flag that would have no effect are Usage
// faults that name the file, the line and what was expected.
package config
