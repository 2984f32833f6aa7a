package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"batch.example/batch/report/attempts"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/run/selecting"
)

func (a *app) attemptsCommand() *cobra.Command {
	var entry string
	var asJSON bool
	c := &cobra.Command{
		Use:   "attempts DIR...",
		Short: "Show pass@k and pass^k of several attempts at the same instances",
		Long: `Show what several attempts at the same instances are worth: pass@k (one of k
attempts resolves the instance) and pass^k (all of k do), both by the unbiased
estimators, and the mean resolved rate, with 95% intervals and standard errors
that are clustered by repository, and the cost. Instances that some attempts
resolve and others do not are named as flaky.

DIR is the folder of a sweep, which gets a table for each entry, or a run
directory: several are the attempts 1, 2 and so on.

  batch attempts runs/sweep
  batch attempts runs/a runs/b runs/c
  batch attempts runs/sweep --json | jq '.[].rows[] | [.k, .pass_at_k.value]'

An attempt counts where it has a verdict of grading. Instances with fewer than k
such attempts are left out of k, and counted. ` + "`batch select`" + ` chooses one attempt
at each instance.

Exit codes: 0 the tables are printed, 2 usage.`,
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := entriesOf(args, entry)
			if err != nil {
				return err
			}
			tables := []attempts.Table{}
			for _, e := range list {
				tables = append(tables, attempts.New(e))
			}
			if asJSON {
				return a.printJSON(tables)
			}
			for i, t := range tables {
				if i > 0 {
					fmt.Fprintln(a.stdout)
				}
				if err := t.Write(a.stdout); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&entry, "entry", "", "only the entry with this `NAME` in the sweep's folder")
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON list, with an object for each entry")
	return c
}

// writeBest prints what the selection gains.
func (s *selectSession) writeBest(out io.Writer, d *selecting.Selecting) error {
	snap, err := results.Read(d.Output)
	if err != nil {
		return err
	}
	best := attempts.NewBest(s.entry, s.flags.by, d.Selections(), scores.FromSnapshot(snap))
	if s.flags.json {
		return s.printJSON(best)
	}
	if err := best.Write(out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\npredictions  %s/preds.json\nchoices      %s/selection.jsonl\n", d.Output, d.Output)
	return err
}
