package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/agent/config/view"
	"batch.example/batch/fault"
	"batch.example/batch/internal/progress"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/run"
	"batch.example/batch/run/engines"
)

// addConfig adds the flags that make the configuration: -c, and one for each value that is set
// often.
func addConfig(fs *pflag.FlagSet, r *run.Request) {
	fs.StringVarP(&r.Model, "model", "m", "", "model: "+strings.Join(catalogue.Names(), ", "))
	fs.StringArrayVarP(&r.Configs, "config", "c", nil, "YAML `FILE`, key=value, or a name of batch's own, such as default, tools or claude-code;\nmerged left to right over the default; may be repeated")
	fs.StringVar(&r.ModelClass, "model-class", "", "sets model.model_class")
	fs.StringVar(&r.EnvironmentClass, "environment-class", "", "sets environment.environment_class")
	inSection(fs, "Model and configuration")
	addContainers(fs, r)
	fs.BoolVar(&r.KeepGitHistory, "keep-git-history", false, "leave commits beyond the checked-out one in the images' repositories")
	fs.BoolVar(&r.AllowCommitMismatch, "allow-commit-mismatch", false, "run an instance also in an image that is not at its row's base_commit, nor at a commit\nthat only sets up the environment on top of it")
	inSection(fs, "Containers")
}

// addContainers adds the flags about what containers may use.
func addContainers(fs *pflag.FlagSet, r *run.Request) {
	addEngine(fs, &r.Engines)
	limitVar(fs, &r.Memory, "memory", "g", "memory limit of a container, such as 8g (the default); 0: none")
	fs.StringVar(&r.CPUs, "cpus", "", "CPUs that a container may use, such as 4 (the default); 0: all")
	limitVar(fs, &r.Disk, "disk", "GB", "limit on a container's own files, such as 20GiB (default: no limit): a quota if the engine's\nstorage driver has one, otherwise a watch that kills the container's processes")
	fs.StringVar(&r.Network, "network", "", "network of the containers: none (the default), bridge (one for all of them), or an existing one's name")
	inSection(fs, "Containers")
}

// addEngine adds the flag that names engines.
func addEngine(fs *pflag.FlagSet, to *[]string) {
	fs.StringArrayVar(to, "engine", nil, "`ADDRESS` of an engine for containers (default: docker); may be repeated, to use several:\nsee batch help engines; "+strings.Join(engines.Forms(), ", "))
}

// testNetwork is the usage of --network in commands that run tests and no agents.
const testNetwork = "network of the tests: none, bridge, or an existing one's name (default: bridge if the row's\nscript installs something, otherwise none)"

// absolute returns a path that does not depend on the working directory.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fault.New(fault.Host, "finding the working directory", err)
	}
	return abs, nil
}

// process returns the parts of this process that requests may use.
func (a *app) process() run.Process {
	return run.Process{
		Argv: config.MaskSpecs(a.args), Getenv: a.getenv, Home: a.home, Stdin: a.stdin, Mask: a.mask, Tell: a.tell,
		Download: progress.Download(a.stderr), Log: a.warnings(),
	}
}

func (a *app) configCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show the configuration that a run would use",
		Long: `Show the configuration that a run would use, the keys that it may have, and
batch's built-in prompts.

  batch config show -c my.yaml -m openai/gpt-5
  batch config keys
  batch config builtin tools

-c is given as often as needed, and merged from left to right over -c default:

  -c FILE        a YAML file in the current directory or in MSWEA_CONFIG_DIR
  -c default     batch's own prompts: the model calls the tool bash
  -c text        batch's own prompts: the model writes its command in a fence
  -c tools       batch's own prompts: the model has an editor beside bash
  -c tasks       batch's own prompts for the tasks of batch help task-folders
  -c AGENT       a program as the agent: claude-code, codex, gemini, mini,
                 opencode or pi; see batch help agents
  -c KEY=VALUE   one value, such as agent.step_limit=100

Files of mini-swe-agent work unchanged. Flags such as -m win over -c.`,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.configShowCommand(), a.configKeysCommand(), a.configSchemaCommand(), a.configBuiltinCommand())
	return c
}

func (a *app) configShowCommand() *cobra.Command {
	var r run.Request
	var as string
	c := &cobra.Command{
		Use:   "show",
		Short: "Show each value of a run's configuration and where it was set",
		Long: `Show each value of a run's configuration and where it was set: the built-in
default, FILE:LINE, -c on the command line, another flag, or an environment
variable. It takes the flags of batch run that set configuration values.

  batch config show
  batch config show -c swebench.yaml -c agent.step_limit=100 -m openai/gpt-5
  batch config show -c tools --as yaml > mine.yaml

--as yaml and --as json write a file that sets the same values with -c. Secrets
are hidden; give them to the run again, with -c KEY=VALUE or in a file.`,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.process().LoadConfig(r)
			if err != nil {
				return err
			}
			if set := run.ModelVariables(cfg, a.getenv); len(set) > 0 {
				if cfg, err = a.process().LoadConfig(r, set...); err != nil {
					return err
				}
			}
			return a.showConfig(cfg, as)
		},
	}
	addConfig(c.Flags(), &r)
	c.Flags().StringVar(&as, "as", "text", "form: text, yaml or json")
	inSection(c.Flags(), "Output")
	return c
}

func (a *app) showConfig(cfg *config.Config, as string) error {
	if err := a.process().HideAndWarn(cfg, nil); err != nil {
		return err
	}
	values := cfg.Values()
	switch as {
	case "text":
		return view.Text(a.stdout, cfg, values)
	case "yaml", "json":
	default:
		return fault.Newf(fault.Usage, "--as %s: expected text, yaml or json", as)
	}
	for _, v := range values {
		if v.Hidden {
			fmt.Fprintf(a.stderr, "batch: %s has a secret, which is hidden: set it again before you use this file\n", v.Path)
		}
	}
	if as == "json" {
		return view.JSON(a.stdout, values)
	}
	return view.YAML(a.stdout, values)
}

func (a *app) configKeysCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "keys",
		Short: "List the keys of a configuration, with types and defaults",
		Long: `List the keys of a configuration: type or allowed values, default, and what the
key does. Set one in a YAML file, or with -c KEY=VALUE.`,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(config.Keys())
			}
			return view.Keys(a.stdout, config.Keys())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as a JSON array")
	return c
}

func (a *app) configSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a configuration file",
		Long: `Print the JSON Schema of a configuration file, with which an editor completes
and checks it. For editors with the YAML language server, begin the file with
the second line below.

  batch config schema > batch.schema.json
  # yaml-language-server: $schema=batch.schema.json`,
		RunE: func(*cobra.Command, []string) error { return a.printJSON(config.Schema()) },
	}
}

func (a *app) configBuiltinCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "builtin NAME",
		Short: "Print a built-in configuration, such as default or claude-code",
		Long: `Print a built-in configuration as it is: default (always underneath), text
(commands in a fence), tools (an editor beside bash), tasks (prompts for task
folders), chat (which chat and serve use where no -c names a file), or one that
makes a program the agent: claude-code, codex, gemini, mini, opencode, pi.

  batch config builtin default > mine.yaml
  batch config builtin claude-code`,
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := config.Builtin(args[0])
			if err != nil {
				return err
			}
			_, err = io.WriteString(a.stdout, text)
			return err
		},
	}
}
