package config

import (
	"embed"
	"slices"

	"batch.example/batch/fault"
)

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// builtins are the names of batch's own configurations. They are no file
// names: those of mini-swe-agent, which has a default.yaml too, mean its files.
var builtins = []string{"default", "text", "tools"}

// readBuiltin reads one of batch's own configurations.
func readBuiltin(name string) (*value, error) {
	if !slices.Contains(builtins, name) {
		return nil, fault.Newf(fault.Bug, "reading the built-in configuration %q: there is none", name)
	}
	data, err := builtinFiles.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		return nil, fault.New(fault.Bug, "reading the built-in configuration", err)
	}
	return parseYAML("batch's built-in "+name, data)
}
