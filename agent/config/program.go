package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"batch.example/batch/agent/template"
	"batch.example/batch/llm"
)

// ProgramConfig is agent.program: an agent of the user's own. Without a Command there is none. Command, Env,
// Stdin and Version are Jinja templates over the variables of a prompt and those of [Config.Launch].
type ProgramConfig struct {
	Command []string
	Env     map[string]string
	Stdin   string
	Version string // a script that prints the version; "": it is not asked
	Files   string // a folder if [ProgramConfig.FilesFolder] says so, or the name of an image; "": none
	Wire    string // one of [llm.Wires]
	Helper  string // see package gateway
	Leaves  []string
}

// programKey is the key of the program.
const programKey = "agent.program"

// keys is the table of the program at a path of a configuration.
func (p *ProgramConfig) keys(path string) []key {
	return []key{
		{path + ".command", field{to: &p.Command}, "", "The program and its arguments, as templates."},
		{path + ".env", field{to: &p.Env}, "", "Environment variables of the program, as templates."},
		{path + ".stdin", jinja(&p.Stdin), "", "What the program reads from its standard input."},
		{path + ".version", jinja(&p.Version), "", "A script whose first line of output is the program's version. It has the program's variables."},
		{path + ".files", field{to: &p.Files}, "", "A folder of this machine, which begins with / or ./, or an image: its files are put into each container, read-only, at {{ files }}."},
		{path + ".wire", word(&p.Wire, llm.Wires...), "", "The protocol in which the program asks its model."},
		{path + ".helper_header", field{to: &p.Helper}, "", "The header of a request that another agent makes, which the program has started."},
		{path + ".leaves", field{to: &p.Leaves}, "", "Patterns of new files in the repository that are no part of the patch, as in .gitignore."},
	}
}

// FilesFolder reports whether Files is a folder of this machine, absolute or relative to where batch was started.
func (p *ProgramConfig) FilesFolder() bool {
	first, _, _ := strings.Cut(p.Files, "/")
	return p.Files != "" && slices.Contains([]string{"", ".", ".."}, first)
}

// plain is the program as plain values, without empty ones.
func (p *ProgramConfig) plain() map[string]any {
	m := map[string]any{}
	for _, k := range p.keys("") {
		if plain := k.field.plain(); !isEmpty(plain) {
			m[k.name()] = plain
		}
	}
	return m
}

// Launched is a program that is to be started.
type Launched struct {
	Args    []string
	Env     []string // NAME=value
	Stdin   string
	Version string // the script that prints its version
}

// Launch returns the program that is started. Vars are task, url, key, model and home, and files if there are
// any, in addition to those of prompts.
func (c *Config) Launch(vars map[string]any) (l Launched, err error) {
	render := func(path, text string) (string, error) {
		t, err := template.Parse(path, text, nil)
		if err != nil {
			return "", err
		}
		return t.Render(c.Vars(), vars)
	}
	p := &c.Agent.Program
	for i, text := range p.Command {
		arg, err := render(programKey+".command."+strconv.Itoa(i+1), text)
		if err != nil {
			return l, err
		}
		l.Args = append(l.Args, arg)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		value, err := render(programKey+".env."+name, p.Env[name])
		if err != nil {
			return l, err
		}
		l.Env = append(l.Env, name+"="+value)
	}
	if l.Stdin, err = render(programKey+".stdin", p.Stdin); err != nil {
		return l, err
	}
	l.Version, err = render(programKey+".version", p.Version)
	return l, err
}

// checkProgram looks at the settings of the program and tries its templates once.
func (c *Config) checkProgram() (problems []string) {
	p := &c.Agent.Program
	if len(p.plain()) == 0 {
		return nil
	}
	say := func(path, format string, args ...any) {
		problems = append(problems, c.nearestPlace(path)+": "+path+" "+fmt.Sprintf(format, args...))
	}
	if len(p.Command) == 0 {
		say(programKey, "has no command")
	}
	if !slices.Contains(llm.Wires, p.Wire) {
		say(programKey+".wire", "is %q, expected %s: the protocols in which batch serves a program", p.Wire, oneOf(llm.Wires))
	}
	if !p.FilesFolder() && (strings.HasPrefix(p.Files, "~") || strings.ContainsFunc(p.Files, unicode.IsSpace)) {
		say(programKey+".files", "is %q, expected a folder that begins with / or ./, or the name of an image", p.Files)
	}
	vars := map[string]any{"task": "", "url": "", "key": "", "model": "", "home": ""}
	if p.Files != "" {
		vars["files"] = ""
	}
	if _, err := c.Launch(vars); err != nil {
		problems = append(problems, problemOf(err))
	}
	return problems
}
