package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
)

func (a *app) statusCommand() *cobra.Command {
	var attempts, asJSON bool
	c := &cobra.Command{
		Use:   "status DIR",
		Short: "Show the state of a run directory",
		Long: `Show the state of a run directory: the instances by exit status and outcome, how
many have a result, what they cost, the verdicts of grading, where the time
went, and what is left to do. It only reads, and works while a run uses the
directory. A rate is of the predictions with a verdict; those that failed for
infrastructure reasons, and quarantined instances, are counted beside it. Of the
folder of a sweep it shows a line for each cell.
` + "`batch help formats`" + ` explains the phases.

  batch status runs/gpt-5
  batch status runs/gpt-5 --json | jq '.instances[] | select(.outcome == "limit")'
  batch status runs/gpt-5 --json | jq -r '.instances[] | [.instance_id, .grade.verdict] | @tsv'`,
		Args: namedArgs("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			postponeCollection()
			if sweeps.Is(args[0]) {
				return a.sweepStatus(args[0], attempts, asJSON)
			}
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
	c.Flags().BoolVar(&attempts, "attempts", false, "also print a line for every attempt")
	c.Flags().BoolVar(&asJSON, "json", false, "print everything as one JSON object")
	return c
}

// sweepStatus prints the state of all cells of a sweep.
func (a *app) sweepStatus(dir string, attempts, asJSON bool) error {
	if attempts {
		return fault.Newf(fault.Usage, "--attempts: %s is the folder of a sweep", dir).WithHint("name one of its run directories")
	}
	status, err := readSweep(dir)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(status)
	}
	return status.Write(a.stdout)
}

// readSweep reads the state of all cells of a sweep.
func readSweep(dir string) (report.Sweep, error) {
	x, err := sweeps.Read(dir)
	if err != nil {
		return report.Sweep{}, err
	}
	var cells []report.SweepCell
	for i, path := range x.Dirs(dir) {
		snap, err := sweeps.ReadCell(path)
		if err != nil {
			return report.Sweep{}, err
		}
		cells = append(cells, report.NewSweepCell(x.Cells[i], snap))
	}
	return report.NewSweep(dir, cells), nil
}

func (a *app) diffCommand() *cobra.Command {
	var asJSON bool
	var o report.DiffOptions
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the settings and outcomes of two run directories",
		Long: `Compare two run directories: their settings, and instance by instance the
outcomes, verdicts, patches (byte by byte), steps, cost and time. An output
directory of mini-swe-agent can be A or B too; its settings are not compared.
It shows what changed; ` + "`batch compare`" + ` shows whether one of them is better.

  batch diff runs/before runs/after
  batch diff runs/before runs/after --common
  batch diff runs/a runs/b --json | jq -r '.instances[] | [.instance_id, .a, .b] | @tsv'

Exit codes: 0 both were compared, whether they differ or not, 2 usage.`,
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
			diff := report.NewDiff(old, now, o)
			if asJSON {
				return a.printJSON(diff)
			}
			return diff.Write(a.stdout)
		},
	}
	c.Flags().BoolVar(&o.Common, "common", false, "compare only the instances with a result in both, and count the others")
	c.Flags().BoolVar(&o.All, "all", false, "list the instances with the same outcome too")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
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

// namedArgs wants exactly these positional arguments. The last one may be given several times
// if its name ends in three dots.
func namedArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			name := strings.TrimSuffix(names[len(args)], "...")
			return fault.Newf(fault.Usage, "%s is missing", name).WithHint("see `%s --help`", c.CommandPath())
		}
		if len(args) > len(names) && !strings.HasSuffix(names[len(names)-1], "...") {
			return fault.Newf(fault.Usage, "unexpected argument %q", args[len(names)]).WithHint("see `%s --help`", c.CommandPath())
		}
		return nil
	}
}
