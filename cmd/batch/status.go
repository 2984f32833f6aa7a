package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/report"
	"batch.example/batch/results"
)

func (a *app) statusCommand() *cobra.Command {
	var attempts, asJSON bool
	c := &cobra.Command{
		Use:   "status DIR",
		Short: "Show how the instances of a run directory ended",
		Long: `Show how the instances of a run directory ended, by outcome: how many have a
result, what they cost, where the time went and what is left to do. It only
reads, and may be used while a run works in the directory.

  batch status runs/gpt-5
  batch status runs/gpt-5 --json | jq '.instances[] | select(.outcome == "limit")'`,
		Args: namedArgs("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			snap, err := results.Read(args[0])
			if err != nil {
				return err
			}
			status := report.NewStatus(snap)
			if asJSON {
				return a.printJSON(status)
			}
			return status.Write(a.stdout, attempts)
		},
	}
	c.Flags().BoolVar(&attempts, "attempts", false, "a line for every attempt too")
	c.Flags().BoolVar(&asJSON, "json", false, "everything, as one JSON object")
	return c
}

func (a *app) diffCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two run directories",
		Long: `Compare two run directories: what was asked and what ran, by their manifests,
and the instances that ended otherwise in B than in A.`,
		Args: namedArgs("A", "B"),
		RunE: func(_ *cobra.Command, args []string) error {
			old, err := results.Read(args[0])
			if err != nil {
				return err
			}
			now, err := results.Read(args[1])
			if err != nil {
				return err
			}
			diff := report.NewDiff(old, now)
			if asJSON {
				return a.printJSON(diff)
			}
			return diff.Write(a.stdout)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return c
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fault.New(fault.Host, "writing JSON", err)
	}
	return nil
}

// namedArgs wants exactly these positional arguments.
func namedArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return fault.Newf(fault.Usage, "%s is missing", names[len(args)]).WithHint("see `%s --help`", c.CommandPath())
		}
		if len(args) > len(names) {
			return fault.Newf(fault.Usage, "unexpected argument %q", args[len(names)]).WithHint("see `%s --help`", c.CommandPath())
		}
		return nil
	}
}
