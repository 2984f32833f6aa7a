package main

import (
	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/run"
)

func (a *app) retryCommand() *cobra.Command {
	var pick run.Choice
	var own runFlags
	c := &cobra.Command{
		Use:   "retry DIR [INSTANCE...]",
		Short: "Run chosen instances of a run directory again",
		Long: `Run chosen instances of a run directory again, as its manifest says that they
were run. Their results are forgotten; their journals and what they cost stay.
Unfinished ones are resumed, or with --fresh start from the beginning.

  batch retry runs/gpt-5 --outcome limit
  batch retry runs/gpt-5 --status TimeExceeded,RepeatedFormatError -w 8
  batch retry runs/gpt-5 django__django-11019

What is given narrows the choice. Outcomes are submitted, empty, limit, format,
failed, infrastructure and pending; statuses are those in exit_statuses.yaml.`,
		Args: someArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			pick.IDs = args[1:]
			if len(pick.IDs)+len(pick.Statuses)+len(pick.Outcomes) == 0 {
				return fault.Newf(fault.Usage, "which instances of %s?", args[0]).
					WithHint("choose with --status, --outcome or instance ids; `batch resume` resumes the unfinished ones")
			}
			snap, err := results.Read(args[0])
			if err != nil {
				return err
			}
			f, err := runFromManifest(args[0], c.Flags())
			if err != nil {
				return err
			}
			chosen, err := pick.From(snap)
			if err != nil {
				return err
			}
			f.retrying, f.fresh, f.ids = true, own.fresh, chosen
			f.filter, f.slice, f.shard = "", "", ""
			return a.run(c.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&pick.Statuses, "status", nil, "those with this exit status; several with commas")
	fs.StringSliceVar(&pick.Outcomes, "outcome", nil, "those with this outcome; several with commas")
	fs.BoolVar(&own.fresh, "fresh", false, "start unfinished instances from the beginning too, instead of resuming them")
	fs.BoolVar(&own.dryRun, "dry-run", false, "say what would run, and stop")
	own.addPace(fs)
	return c
}

// someArgs wants at least these positional arguments.
func someArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		return namedArgs(names...)(c, args[:min(len(args), len(names))])
	}
}
