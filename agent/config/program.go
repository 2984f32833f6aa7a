package config

import (
	"maps"
	"slices"
	"strconv"

	"batch.example/batch/agent/template"
	"batch.example/batch/gateway"
)

// ProgramConfig is agent.program: an agent of the user's own. Without a Command there is none. Command, Env and
// Stdin are Jinja templates over the variables of a prompt and those of [Config.Launch].
type ProgramConfig struct {
	Command []string
	Env     map[string]string
	Stdin   string
	Wire    string // one of [gateway.Wires]
	Helper  string // see [gateway.Config]
}

// inProgram begins the paths of its keys.
const inProgram = "agent.program."

func (p *ProgramConfig) keys() []key {
	return []key{
		{inProgram + "command", field{to: &p.Command}, "none", "A program in the container that is the agent, and its arguments, as templates: see `batch help agents`."},
		{inProgram + "env", field{to: &p.Env}, "none", "Environment variables of the program, as templates."},
		{inProgram + "stdin", jinja(&p.Stdin), "empty", "What the program reads from its standard input."},
		{inProgram + "wire", word(&p.Wire, gateway.Wires...), "none", "The protocol in which the program asks its model, which the model's endpoint must speak too."},
		{inProgram + "helper_header", field{to: &p.Helper}, "none", "The header of a request that is not of the main conversation but of another agent that the program has started."},
	}
}

// Launch returns the program that is started: its arguments, its environment as NAME=value, and its standard
// input. Vars are task, url, key, model and home, in addition to those of prompts.
func (c *Config) Launch(vars map[string]any) (args, env []string, stdin string, err error) {
	render := func(path, text string) (string, error) {
		t, err := template.Parse(path, text, nil)
		if err != nil {
			return "", err
		}
		return t.Render(c.Vars(), vars)
	}
	p := &c.Agent.Program
	for i, text := range p.Command {
		arg, err := render(inProgram+"command."+strconv.Itoa(i+1), text)
		if err != nil {
			return nil, nil, "", err
		}
		args = append(args, arg)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		value, err := render(inProgram+"env."+name, p.Env[name])
		if err != nil {
			return nil, nil, "", err
		}
		env = append(env, name+"="+value)
	}
	stdin, err = render(inProgram+"stdin", p.Stdin)
	return args, env, stdin, err
}

// checkProgram tries the templates once.
func (c *Config) checkProgram() (problems []string) {
	if len(c.Agent.Program.Command) == 0 {
		return nil
	}
	if c.Agent.Program.Wire == "" {
		problems = append(problems, c.nearestPlace(inProgram+"command")+": "+inProgram+"wire is missing: the protocol in which the program asks its model")
	}
	if _, _, _, err := c.Launch(map[string]any{"task": "", "url": "", "key": "", "model": "", "home": ""}); err != nil {
		problems = append(problems, problemOf(err))
	}
	return problems
}
