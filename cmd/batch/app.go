package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results"
	"batch.example/batch/run"
)

// app is what a command may use of the process it runs in.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer    // which hide secrets, and show a terminal's escapes instead of sending them
	rows           io.Writer    // stdout for JSON that is to stay exact: no secret in it is hidden
	mask           *mask.Masker // behind both
	getenv         func(string) string
	home           string
	args           []string
}

// Exit codes; doc.go has their meaning.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitLocked      = 4
	exitInterrupted = 130
)

// Outcomes of a run that are told by the table, not by an error text.
var (
	errIncomplete  = errors.New("some instances have no result")
	errInterrupted = errors.New("interrupted")
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
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fault.New(fault.Usage, "reading the flags", err).WithHint("see `%s --help`", c.CommandPath())
	})
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(a.runCommand(), a.statusCommand(), a.resumeCommand(), a.retryCommand(), a.diffCommand(), a.datasetCommand(), a.imagesCommand(), a.cleanCommand(), a.doctorCommand(), a.versionCommand())
	return root
}

const rootHelp = `Run an LLM coding agent over SWE-bench-style datasets: one Docker container per
instance, step and cost limits, trajectories, patches and preds.json.

  batch run --subset verified -m openai/gpt-5 -w 8 -o runs/gpt-5   the main job
  batch run --subset demo -m scripted/demo -o demo-run             try it without a key
  batch doctor                                                     can this machine run it?

Exit codes: 0 every instance has a result, 1 the run could not go on, 2 usage,
3 some instances have no result, 4 the directory is in use, 130 interrupted.`

// exit prints err for a person and returns the process's exit code.
func (a *app) exit(err error) int {
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	if errors.Is(err, errIncomplete) || errors.Is(err, errInterrupted) {
		return code
	}
	a.complain(err)
	return code
}

// complain tells a person of err and what to do. Only its first line begins at
// the left: the others may be of anybody's making.
func (a *app) complain(err error) {
	text := "batch: " + err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += "\n" + hint
	}
	fmt.Fprintln(a.stderr, strings.ReplaceAll(text, "\n", "\n  "))
}

func exitCode(err error) int {
	_, locked := errors.AsType[*results.LockedError](err)
	switch {
	case locked:
		return exitLocked
	case errors.Is(err, errInterrupted), fault.Canceled(err):
		return exitInterrupted
	case errors.Is(err, errIncomplete):
		return exitIncomplete
	case fault.KindOf(err) == fault.Usage:
		return exitUsage
	default:
		return exitFailed
	}
}

// knownCommand refuses what is no command, with the nearest that is one.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fault.Newf(fault.Usage, "unknown command %q", args[0]).WithHint("see `%s --help`", c.CommandPath())
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return err.WithHint("did you mean `%s %s`?", c.CommandPath(), near[0])
	}
	return err
}

// noArgs refuses positional arguments as a usage error.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fault.Newf(fault.Usage, "unexpected argument %q", args[0]).
			WithHint("`%s` takes flags only; see `%s --help`", c.CommandPath(), c.CommandPath())
	}
	return nil
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.stdout, "batch %s %s %s/%s\n", run.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
