package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/vocab"
)

func (a *app) statusCommand() *cobra.Command {
	var attempts, asJSON bool
	var ids []string
	c := &cobra.Command{
		Use:   "status DIR...",
		Short: "Show the state of run directories",
		Long: `Show the state of a run directory: the instances by exit status and outcome, how
many have a result, what they cost, the verdicts of grading, where the time
went, and what is left to do. It only reads, and works while a run uses the
directory. A rate counts the predictions with a verdict; infrastructure failures
and quarantined instances are counted beside it. For the folder of a sweep, it
shows a line for each cell; --ids names instances there as CELL/ID.
` + "`batch help run-directory`" + ` explains the phases.

  batch status runs/gpt-5
  batch status runs/gpt-5 --ids unresolved,no_apply
  batch status runs/gpt-5 --json | jq '.instances[] | select(.outcome == "limit")'
  batch status runs/gpt-5 --json | jq -r '.instances[] | [.instance_id, .grade.verdict] | @tsv'`,
		RunE: func(_ *cobra.Command, args []string) error {
			postponeCollection()
			if ids != nil && (attempts || asJSON) {
				return fault.Newf(fault.Usage, "--ids prints nothing but ids: leave --attempts and --json out")
			}
			if ids != nil {
				var all []report.InstanceStatus
				for _, dir := range args {
					_, list, err := statusesIn(dir)
					if err != nil {
						return err
					}
					all = append(all, list...)
				}
				return a.printIDs(all, ids)
			}
			for i, dir := range args {
				if i > 0 && !asJSON {
					fmt.Fprintln(a.stdout)
				}
				if err := a.status(dir, attempts, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&attempts, "attempts", false, "also print a line for every attempt")
	c.Flags().BoolVar(&asJSON, "json", false, "print everything as one JSON object for each DIR")
	c.Flags().StringSliceVar(&ids, "ids", nil, "print only the ids of the instances with this verdict, outcome\nor exit status, a line for each; separate several with commas")
	return c
}

// status prints the state of a directory.
func (a *app) status(dir string, attempts, asJSON bool) error {
	whole := sweeps.Is(dir)
	if whole {
		if err := a.sweepStatus(dir, asJSON); err != nil || !attempts || asJSON {
			return err
		}
	}
	list, _, err := statusesIn(dir)
	for _, status := range list {
		switch {
		case err != nil:
			return err
		case asJSON:
			return a.printJSON(status)
		case whole:
			fmt.Fprintln(a.stdout)
		}
		err = status.Write(a.stdout, attempts)
	}
	return err
}

// statusesIn returns the states of the run directories that a path names, and their instances with the names
// that commands take for them.
func statusesIn(path string) (list []report.Status, instances []report.InstanceStatus, err error) {
	dirs, err := sweeps.Runs(path)
	for _, dir := range dirs {
		snap, err := results.Read(dir)
		if err != nil {
			return nil, nil, err
		}
		set, err := setIn(dir)
		if err != nil {
			snap.Notes = append(snap.Notes, err.Error())
		}
		list = append(list, report.NewStatus(snap).Under(set))
		for _, in := range list[len(list)-1].Instances {
			in.InstanceID = holder{cell: cellIn(path, dir)}.full(in.InstanceID)
			instances = append(instances, in)
		}
	}
	return list, instances, err
}

// setIn returns what `batch ctl` left in force in a run directory.
func setIn(dir string) (report.Set, error) {
	h, err := run.ReadControl(dir)
	f := h.InForce()
	return report.Set{Budget: f.Budget, Canceled: f.Canceled}, err
}

// printIDs prints the ids of the instances that one of the words is about.
func (a *app) printIDs(instances []report.InstanceStatus, wanted []string) error {
	known := knownEndings()
	var found []string
	for _, in := range instances {
		about := []string{string(in.Outcome), string(in.Status)}
		if in.Grade != nil {
			about = append(about, string(in.Grade.Verdict))
		}
		known = append(known, about...)
		if slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(about, w) }) {
			found = append(found, in.InstanceID)
		}
	}
	for _, w := range wanted {
		if !slices.Contains(known, w) {
			return fault.Newf(fault.Usage, "--ids %q is not a verdict, outcome or exit status", w).
				WithHint("verdicts are %s;\noutcomes are %s", strings.Join(words(vocab.Verdicts()), ", "), strings.Join(words(vocab.Outcomes()), ", "))
		}
	}
	for _, id := range found {
		if _, err := fmt.Fprintln(a.stdout, printable.Line(id)); err != nil {
			return err
		}
	}
	return nil
}

// sweepStatus prints the state of all cells of a sweep.
func (a *app) sweepStatus(dir string, asJSON bool) error {
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
		set, err := setIn(path)
		if err != nil && snap != nil {
			snap.Notes = append(snap.Notes, err.Error())
		}
		cells = append(cells, report.NewSweepCell(x.Cells[i], snap, set))
	}
	return report.NewSweep(dir, cells), nil
}

// printJSON prints a value on several lines.
func (a *app) printJSON(v any) error { return jsonTo(a.stdout, "  ")(v) }

// jsonLines returns a function that prints a value on one line.
func (a *app) jsonLines() func(v any) error { return jsonTo(a.stdout, "") }

func jsonTo(w io.Writer, indent string) func(v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return func(v any) error {
		if err := enc.Encode(v); err != nil {
			return fault.New(fault.Host, "writing JSON", err)
		}
		return nil
	}
}
