package config

import (
	"embed"
	"slices"
	"strings"

	"batch.example/batch/fault"
)

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// builtins are the names of batch's own configurations, in alphabetical order. They are not names of files:
// default.yaml means a file, such as mini-swe-agent's.
var builtins = builtinNames()

func builtinNames() (names []string) {
	files, err := builtinFiles.ReadDir("builtin")
	if err != nil {
		panic(err) // they are a part of the program
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// Builtins returns the names of batch's own configurations, in alphabetical order.
func Builtins() []string { return slices.Clone(builtins) }

// Chat is the built-in configuration for conversations with a person.
const Chat = "chat"

// Builtin returns one of batch's own configurations, as a YAML file.
func Builtin(name string) (string, error) {
	if !slices.Contains(builtins, name) {
		return "", fault.Newf(fault.Usage, "there is no built-in configuration %q", name).WithHint("built in are %s", strings.Join(builtins, ", "))
	}
	data, err := builtinFiles.ReadFile("builtin/" + name + ".yaml")
	if err != nil {
		return "", fault.New(fault.Bug, "reading the built-in configuration", err)
	}
	return string(data), nil
}

// readBuiltin reads one of batch's own configurations.
func readBuiltin(name string) (*value, error) {
	text, err := Builtin(name)
	if err != nil {
		return nil, err
	}
	return parseYAML(builtinSource(name), []byte(text), inBuiltin)
}
