package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run/merging"
)

func (a *app) mergeCommand() *cobra.Command {
	var m merging.Config
	var plan string
	var asJSON bool
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Make one run directory of the shards of a run",
		Long: `Make one run directory OUT of several, as if one run had made them all: the
shards that machines ran with --shard, or other runs with the same settings.

  batch merge runs/1 runs/2 runs/3 -o runs/all
  batch resume runs/all
  batch grade runs/all && batch compare runs/all runs/other

The directories must have the same model, settings and dataset: differences are
listed, and nothing is written. No instance may be in two of them, unless both
have the same journal, prediction and grades of it. Patches, journals,
trajectories, logs and grades are copied byte for byte, and preds.json is sorted
by instance id. The directories are not changed. OUT must not exist, or be
empty; it appears as a whole at the end.

Folders of sweeps that ran with --shard become one folder of a sweep, cell by
cell. They must have the same cells.

Missing shards and instances without a result are listed; ` + "`batch resume`" + ` runs
them in OUT, the run of all shards, with the whole --cost-limit-total.

Exit codes: 0 merged, 1 it could not be written, 2 usage, different settings or
the same instance twice, 4 a directory is in use.`,
		RunE: func(_ *cobra.Command, dirs []string) error {
			if m.Output == "" {
				return fault.Newf(fault.Usage, "where to?").WithHint("name the new run directory with -o")
			}
			faults, err := inject.Parse(plan)
			if err != nil {
				return err
			}
			m.Dirs, m.Argv, m.Mask, m.Hide, m.Files = dirs, config.MaskSpecs(a.args), a.mask, a.hideOfRun, atomicfile.Files{Inject: faults}
			if slices.ContainsFunc(dirs, sweeps.Is) {
				return a.mergeSweeps(m, asJSON)
			}
			merged, err := merging.Merge(m)
			if err == nil && asJSON {
				err = a.printJSON(merged)
			} else if err == nil {
				a.writeMerged(m.Output, merged)
			}
			if err == nil {
				a.tellMissing(m.Output, merged)
			}
			return err
		},
	}
	fs := c.Flags()
	fs.StringVarP(&m.Output, "output", "o", "", "the new run directory (required)")
	fs.BoolVar(&asJSON, "json", false, "print what was merged as one JSON object")
	fs.StringVar(&plan, "inject", "", "make chosen steps fail, see internal/inject")
	_ = fs.MarkHidden("inject")
	return c
}

// mergeSweeps makes one folder of the folders of sweeps, and says what is in its cells.
func (a *app) mergeSweeps(c merging.Config, asJSON bool) error {
	s, err := merging.Sweeps(c)
	if err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(s)
	} else {
		fmt.Fprintf(a.stdout, "%s: %s merged, %s\n\n", printable.Line(c.Output),
			printable.Count(s.Dirs, "sweep", "sweeps"), printable.Count(len(s.Cells), "cell", "cells"))
		err = sweepTable(s).Write(a.stdout)
	}
	var all []*merging.Merged
	for _, cell := range s.Cells {
		all = append(all, cell.Merged)
	}
	a.tellMissing(c.Output, all...)
	return err
}

// sweepTable has a row for each cell.
func sweepTable(s *merging.Sweep) *printable.Table {
	t := printable.Numbers(2, 3)
	t.Add("cell", "with result", "missing shards", "no result")
	for _, c := range s.Cells {
		if c.Merged == nil {
			t.Add(c.Folder, "not begun")
			continue
		}
		none := ""
		if len(c.Unfinished) > 0 {
			none = some(c.Unfinished)
		}
		t.Add(c.Folder, fmt.Sprintf("%d of %d", len(c.Instances)-len(c.Unfinished), len(c.Instances)), shardList(c.Missing), none)
	}
	return t
}

// writeMerged says what is in the new directory, and what is missing.
func (a *app) writeMerged(output string, m *merging.Merged) {
	fmt.Fprintf(a.stdout, "%s: %s merged, %d of %s with a result\n", printable.Line(output),
		printable.Count(m.Dirs, "directory", "directories"), len(m.Instances)-len(m.Unfinished),
		printable.Count(len(m.Instances), "instance", "instances"))
	if m.Report != "" {
		fmt.Fprintf(a.stdout, "report        %s\n", printable.Line(m.Report))
	}
	if len(m.Shards) > 0 {
		fmt.Fprintf(a.stdout, "shards        %s\n", shardList(m.Shards))
	}
	if len(m.Missing) > 0 {
		fmt.Fprintf(a.stdout, "missing       %s\n", shardList(m.Missing))
	}
	if len(m.Unfinished) > 0 {
		fmt.Fprintf(a.stdout, "no result     %s\n", printable.Line(some(m.Unfinished)))
	}
}

// tellMissing says what to do about instances that are missing in a new directory or its cells. A
// cell that has not begun is nil.
func (a *app) tellMissing(output string, cells ...*merging.Merged) {
	unknown := func(m *merging.Merged) bool { return m != nil && len(m.Missing) > 0 && m.Listed }
	missing := func(m *merging.Merged) bool { return m == nil || len(m.Missing)+len(m.Unfinished) > 0 }
	switch {
	case slices.ContainsFunc(cells, unknown):
		a.tell("the instances of missing shards came from a list and are not known: merge again when these shards have run")
	case slices.ContainsFunc(cells, missing):
		a.tell("to run what is missing: `batch resume " + printable.ShellWord(output) + "`")
	}
}

func shardList(list []dataset.Shard) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.String()
	}
	return strings.Join(names, ", ")
}
