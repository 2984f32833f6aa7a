// Package config reads the agent's configuration: mini-swe-agent's YAML files,
// unchanged, and key=value settings, merged from left to right over a default
// of our own.
//
// A file is read from where its name says, or an error tells how to get it.
// The configurations that are built in (default, text, tools) are batch's own
// and stand under these names alone: no file's name means them, and they are
// not mini-swe-agent's, which are files of that program. [Config.Prompts] says
// whose prompts run.
//
// Reading is strict where mini-swe-agent's is not: a key that nobody knows, a
// value of the wrong type and a container flag that would have no effect are
// Usage faults that name the file, the line and what was expected.
package config
