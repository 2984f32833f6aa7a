package main

import (
	"github.com/spf13/cobra"
)

func (a *app) resumeCommand() *cobra.Command {
	var own runFlags
	c := &cobra.Command{
		Use:   "resume DIR",
		Short: "Resume a run that was stopped or died",
		Long: `Resume a run that was stopped or died: what the last batch run into DIR
asked for, as its manifest tells it. Instances with a result are kept. The
others go on behind the last step in their journal, in their own container
where it still runs, else in a fresh one in which the recorded actions are
executed again. A command that was under way has gone on in its container:
its output is taken, and it does not run twice. No reply that is in a journal
is asked for a second time.

  batch resume runs/gpt-5
  batch resume runs/gpt-5 -w 16 --cost-limit-total 50

batch run with the same arguments does the same.`,
		Args: namedArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := runFromManifest(args[0], c.Flags())
			if err != nil {
				return err
			}
			return a.run(c.Context(), f)
		},
	}
	c.Flags().BoolVar(&own.dryRun, "dry-run", false, "say what would run, and stop")
	own.addPace(c.Flags())
	return c
}
