package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/agent/config/view"
	"batch.example/batch/fault"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/run"
)

// configFlags are the flags that make the configuration: -c, and one for each value
// that is set often.
type configFlags struct {
	configs     []string
	model       string
	modelClass  string
	envClass    string
	network     string
	memory      string
	disk        string
	cpus        string
	keepHistory bool
	allowCommit bool
}

func (f *configFlags) add(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVarP(&f.model, "model", "m", "", "model: "+strings.Join(catalogue.Names(), ", "))
	fs.StringArrayVarP(&f.configs, "config", "c", nil, "YAML `FILE`, key=value, or batch's own default, text, tools or chat; merged left to right\nover the default; may be repeated")
	fs.StringVar(&f.modelClass, "model-class", "", "sets model.model_class")
	fs.StringVar(&f.envClass, "environment-class", "", "sets environment.environment_class")
	inSection(fs, "Model and configuration")
	f.addContainers(fs)
	fs.BoolVar(&f.keepHistory, "keep-git-history", false, "leave commits beyond the checked-out one in the images' repositories")
	fs.BoolVar(&f.allowCommit, "allow-commit-mismatch", false, "run an instance also in an image that is not at its row's base_commit, nor at a commit\nthat only sets up the environment on top of it")
	inSection(fs, "Containers")
}

// addContainers adds the flags about what containers may use.
func (f *configFlags) addContainers(fs *pflag.FlagSet) {
	fs.StringVar(&f.memory, "memory", "", "memory limit of a container, such as 8g (the default); 0: none")
	fs.StringVar(&f.cpus, "cpus", "", "CPUs that a container may use, such as 4 (the default); 0: all")
	fs.StringVar(&f.disk, "disk", "", "what a container's own files may take, such as 20GiB (default: no limit): a quota where\nthe engine's storage driver has one, else a watch that kills what runs in that container")
	fs.StringVar(&f.network, "network", "", "network of the containers: none (the default), bridge (one for all of them), or an existing one's name")
	inSection(fs, "Containers")
}

// testNetwork is the usage of --network where tests run and no agents.
const testNetwork = "network of the tests: none, bridge, or an existing one's name (default: bridge if the row's\nscript installs something, else none)"

// settings are the values that flags set.
func (f *configFlags) settings() (list []config.Setting) {
	for _, s := range []struct{ flag, path, value string }{
		{"-m", "model.model_name", f.model},
		{"--model-class", "model.model_class", f.modelClass},
		{"--environment-class", "environment.environment_class", f.envClass},
		{"--network", "environment.network", f.network},
		{"--memory", "environment.memory", f.memory},
		{"--disk", "environment.disk", f.disk},
		{"--cpus", "environment.cpus", f.cpus},
	} {
		if s.value != "" { // what is not given leaves the files their say
			list = append(list, config.Setting{Path: s.path, Value: s.value, Flag: s.flag})
		}
	}
	if f.keepHistory {
		list = append(list, config.Setting{Path: "environment.keep_git_history", Value: true, Flag: "--keep-git-history"})
	}
	if f.allowCommit {
		list = append(list, config.Setting{Path: "environment.allow_commit_mismatch", Value: true, Flag: "--allow-commit-mismatch"})
	}
	return list
}

// config merges the user's files and values over the default; flags come last.
func (a *app) config(f configFlags) (*config.Config, error) {
	return a.loadConfig(f.configs, f.settings())
}

func (a *app) loadConfig(specs []string, set []config.Setting) (*config.Config, error) {
	return config.Load(specs, config.Options{Set: set, Dirs: a.configDirs()})
}

// configDirs are where the files of -c are beside the working directory.
func (a *app) configDirs() []string {
	if dir := a.getenv("MSWEA_CONFIG_DIR"); dir != "" {
		return []string{dir}
	}
	return nil
}

// keepPaths makes the files that flags name those of the working directory, for a process that
// leaves it.
func (a *app) keepPaths(f *configFlags) error {
	for i, spec := range f.configs {
		name, err := config.File(spec, config.Options{Dirs: a.configDirs()})
		if err == nil && name != "" {
			f.configs[i], err = absolute(name)
		}
		if err != nil {
			return err
		}
	}
	script, ok := strings.CutPrefix(f.model, "scripted/")
	if !ok || slices.Contains(catalogue.Words(), f.model) {
		return nil
	}
	script, err := absolute(script)
	f.model = "scripted/" + script
	return err
}

// absolute returns a path that does not depend on the working directory.
func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fault.New(fault.Host, "finding the working directory", err)
	}
	return abs, nil
}

// hideAndWarn prints the warnings of a configuration after it has hidden its secrets, and
// what patterns match.
func (a *app) hideAndWarn(cfg *config.Config, patterns []string) error {
	if err := a.hideAsked(cfg, patterns); err != nil {
		return err
	}
	for _, w := range cfg.Warnings {
		fmt.Fprintln(a.stderr, "batch: "+w)
	}
	return nil
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

` + helpText("config"),
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.configShowCommand(), a.configKeysCommand(), a.configBuiltinCommand())
	return c
}

func (a *app) configShowCommand() *cobra.Command {
	var f configFlags
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
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.config(f)
			if err != nil {
				return err
			}
			if set := run.ModelVariables(cfg, a.getenv); len(set) > 0 {
				if cfg, err = a.loadConfig(f.configs, append(f.settings(), set...)); err != nil {
					return err
				}
			}
			return a.showConfig(cfg, as)
		},
	}
	f.add(c)
	c.Flags().StringVar(&as, "as", "text", "form: text, yaml or json")
	inSection(c.Flags(), "Output")
	return c
}

func (a *app) showConfig(cfg *config.Config, as string) error {
	if err := a.hideAndWarn(cfg, nil); err != nil {
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
		Args: noArgs,
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

func (a *app) configBuiltinCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "builtin NAME",
		Short: "Print a built-in configuration: default, text, tools or chat",
		Long: `Print a built-in configuration as it is: default (always underneath), text
(commands in a fence), tools (an editor beside bash) or chat (which chat and
serve use where no -c names a file).

  batch config builtin default > mine.yaml`,
		Args: namedArgs("NAME"),
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
