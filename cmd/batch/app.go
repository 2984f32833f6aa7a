package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/agent/config"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/removed"
	"batch.example/batch/results"
	"batch.example/batch/run"
)

// app has the parts of the process that a command may use.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer    // which hide secrets, and show a terminal's escapes instead of sending them
	rows           io.Writer    // stdout for JSON that is to stay exact: no secret in it is hidden
	mask           *mask.Masker // behind both
	getenv         func(string) string
	home           string
	args           []string
}

// Exit codes: see `batch help exit-codes`.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitLocked      = 4
	exitGate        = 5
	exitInterrupted = 130
)

// exited is the error of a command that has said how it ended, and only has to exit with its code.
type exited struct{ code int }

func (e exited) Error() string { return fmt.Sprintf("ended with the exit code %d", e.code) }

var (
	errIncomplete  error = exited{exitIncomplete}
	errInterrupted error = exited{exitInterrupted}
	errGate        error = exited{exitGate}
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "batch",
		Short:         "Run an LLM coding agent over SWE-bench-style datasets",
		Long:          rootHelp,
		Args:          knownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(flagError)
	root.Version = version()
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	a.addCommands(root)
	root.AddCommand(topics()...)
	root.SetUsageFunc(usage)
	a.checkNames(root)
	a.complete(root)
	return root
}

// addCommands adds the commands under the headings of `batch help`.
func (a *app) addCommands(root *cobra.Command) {
	add := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, c := range commands {
			c.GroupID = title
		}
		root.AddCommand(commands...)
	}
	add("Run:", a.runCommand(), a.sweepCommand(), a.ctlCommand(), a.resumeCommand(), a.retryCommand(), a.mergeCommand(), a.chatCommand(), a.attachCommand(), a.serveCommand())
	add("Look at results:", a.gradeCommand(), a.statusCommand(), a.showCommand(), a.viewCommand(), a.compareCommand(), a.attemptsCommand(), a.selectCommand(), a.reportCommand(), a.auditCommand(), a.exportCommand())
	add("Data, configuration and images:", a.datasetCommand(), a.configCommand(), a.modelsCommand(), a.imagesCommand())
	const machine = "This machine:"
	add(machine, a.doctorCommand(), a.stubCommand(), a.cleanCommand(), a.versionCommand())
	root.SetHelpCommandGroupID(machine)
	root.SetCompletionCommandGroupID(machine)
}

const rootHelp = `Run an LLM coding agent over SWE-bench-style datasets: one Docker container per
instance, step and cost limits, trajectories, patches and preds.json.

  batch run --subset verified -m openai/gpt-5 -w 8 -o runs/gpt-5   the main job
  batch run --subset demo -m scripted/demo -c agent.step_limit=12  try it, no key
  batch doctor                                                     can it run here?

Exit codes: 0 every instance has a result, 1 the run could not continue,
2 usage, 3 some instances have no result, 4 the directory is in use,
5 a gate of batch compare failed, 130 interrupted.`

// exit prints err for a person and returns the process's exit code.
func (a *app) exit(err error) int {
	if err == nil {
		return exitOK
	}
	if _, said := errors.AsType[exited](err); !said {
		a.complain(err)
	}
	return exitCode(err)
}

// complain prints err and what to do about it. Only its first line begins at the left,
// so that the others, which may be text from outside, are not taken for batch's.
func (a *app) complain(err error) {
	text := "batch: " + err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += "\n" + hint
	}
	fmt.Fprintln(a.stderr, strings.ReplaceAll(text, "\n", "\n  "))
}

func exitCode(err error) int {
	_, locked := errors.AsType[*results.LockedError](err)
	own, ended := errors.AsType[exited](err)
	switch {
	case ended:
		return own.code
	case locked:
		return exitLocked
	case fault.Canceled(err):
		return exitInterrupted
	case fault.KindOf(err) == fault.Usage:
		return exitUsage
	default:
		return exitFailed
	}
}

// knownCommand refuses an unknown command, and names the nearest one.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if instead := removed.Instead(c.CommandPath() + " " + args[0]); instead != "" {
		return fault.Newf(fault.Usage, "`%s %s` was removed", c.CommandPath(), args[0]).WithHint("%s", instead)
	}
	err := fault.Newf(fault.Usage, "unknown command %q", args[0]).WithHint("see `%s --help`", c.CommandPath())
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return err.WithHint("did you mean `%s %s`?", c.CommandPath(), near[0])
	}
	return err
}

// takes wants the arguments that a usage names: DIR is required, [FILE] is optional, and the last
// place may be taken several times if its name has three dots.
func takes(places ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		refused := func(format, arg string) error {
			return fault.Newf(fault.Usage, format, arg).WithHint("see `%s --help`", c.CommandPath())
		}
		for i, place := range places {
			if i >= len(args) && !strings.HasPrefix(place, "[") {
				return refused("%s is missing", strings.TrimSuffix(place, "..."))
			}
		}
		switch {
		case len(args) <= len(places):
			return nil
		case len(places) == 0:
			return fault.Newf(fault.Usage, "unexpected argument %q", args[0]).
				WithHint("`%s` takes flags only; see `%s --help`", c.CommandPath(), c.CommandPath())
		case strings.Contains(places[len(places)-1], "..."):
			return nil
		}
		return refused("unexpected argument %q", args[len(places)])
	}
}

// flagError refuses flags, and names the nearest one that the command has.
func flagError(c *cobra.Command, err error) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = valueError(invalid)
	}
	refused := fault.New(fault.Usage, "", err).WithHint("see `%s --help`", c.CommandPath())
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return refused
	}
	flag := "--" + unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		flag = flag[1:]
	}
	if instead := removed.Instead(c.CommandPath() + " " + flag); instead != "" {
		return fault.Newf(fault.Usage, "%s of `%s` was removed", flag, c.CommandPath()).WithHint("%s", instead)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if name := near.Name(unknown.GetSpecifiedName(), names); name != "" && unknown.GetSpecifiedShortnames() == "" {
		return refused.WithHint("did you mean `--%s`? See `%s --help`", name, c.CommandPath())
	}
	if key := configKey(unknown.GetSpecifiedName()); key != "" && c.Flags().Lookup("config") != nil {
		return refused.WithHint("set it in the configuration: `-c %s=VALUE`; see `batch config keys`", key)
	}
	return refused
}

// configKey returns the configuration key with the last part name, or "".
func configKey(name string) string {
	for _, k := range config.Keys() {
		if strings.HasSuffix(k.Path, "."+strings.ReplaceAll(name, "-", "_")) {
			return k.Path
		}
	}
	if name == "temperature" {
		return "model.model_kwargs.temperature"
	}
	return ""
}

// valueError says what a flag expects, in place of how Go failed to read it.
func valueError(err *pflag.InvalidValueError) error {
	flag, value := err.GetFlag(), err.GetValue()
	expected := ""
	switch flag.Value.Type() {
	case "int", "int64", "uint64":
		expected = "a whole number"
	case "float64":
		expected = "a number of US dollars"
	case "bool":
		expected = "true or false"
	case "duration":
		if _, notNumber := strconv.ParseFloat(value, 64); notNumber == nil {
			return fmt.Errorf("--%s %s: %s of what? write %sm", flag.Name, value, value, value)
		}
		expected = "a time such as 30s or 5m"
	case "string": // a number with a unit
		return fmt.Errorf("--%s %s: %w", flag.Name, value, err.Unwrap())
	default:
		return fmt.Errorf("--%s %q: %w", flag.Name, value, err.Unwrap())
	}
	return fmt.Errorf("--%s %q: expected %s", flag.Name, value, expected)
}

// version is the line that `batch version` prints.
func version() string {
	return fmt.Sprintf("batch %s %s %s/%s", run.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.printJSON(map[string]string{"version": run.Version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			_, err := fmt.Fprintln(a.stdout, version())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// tell writes a line for a person.
func (a *app) tell(text string) { fmt.Fprintln(a.stderr, "batch: "+text) }

// also joins a second error to err. If err is an interruption, also prints the second error
// itself: an interruption only prints the command that continues the run.
func (a *app) also(err, second error) error {
	if second == nil || !interrupted(err) {
		return errors.Join(err, second)
	}
	a.complain(second)
	return err
}
