package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/printable"
	"batch.example/batch/run/merging"
)

func (a *app) mergeCommand() *cobra.Command {
	var output, plan string
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

Missing shards and instances without a result are listed; ` + "`batch resume`" + ` runs
them in OUT, the run of all shards, with the whole --cost-limit-total.

Exit codes: 0 merged, 1 it could not be written, 2 usage, different settings or
the same instance twice, 4 a directory is in use.`,
		Args: someArgs("DIR"),
		RunE: func(_ *cobra.Command, dirs []string) error {
			if output == "" {
				return fault.Newf(fault.Usage, "where to?").WithHint("name the new run directory with -o")
			}
			faults, err := inject.Parse(plan)
			if err != nil {
				return err
			}
			m, err := merging.Merge(merging.Config{
				Dirs: dirs, Output: output, Argv: config.MaskSpecs(a.args), Mask: a.mask, Hide: a.hideOfRun, Files: atomicfile.Files{Inject: faults},
			})
			if err != nil {
				return err
			}
			a.writeMerged(output, m)
			return nil
		},
	}
	fs := c.Flags()
	fs.StringVarP(&output, "output", "o", "", "the new run directory (required)")
	fs.StringVar(&plan, "inject", "", "make chosen steps fail, see internal/inject")
	_ = fs.MarkHidden("inject")
	return c
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
	switch {
	case len(m.Missing) > 0 && m.Listed:
		a.tell("the instances of missing shards came from a list and are not known: merge again when these shards have run")
	case len(m.Missing)+len(m.Unfinished) > 0:
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
