package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/results"
)

// choice says which instances of a run directory `batch retry` runs again.
// What is given narrows: of the ids, those with one of the statuses and one of
// the outcomes.
type choice struct {
	ids, statuses, outcomes []string
}

func (a *app) retryCommand() *cobra.Command {
	var pick choice
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
			pick.ids = args[1:]
			if len(pick.ids)+len(pick.statuses)+len(pick.outcomes) == 0 {
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
			chosen, err := pick.from(snap)
			if err != nil {
				return err
			}
			f.retrying, f.fresh, f.ids = true, own.fresh, chosen
			f.filter, f.slice, f.shard = "", "", ""
			return a.run(c.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&pick.statuses, "status", nil, "those with this exit status; several with commas")
	fs.StringSliceVar(&pick.outcomes, "outcome", nil, "those with this outcome; several with commas")
	fs.BoolVar(&own.fresh, "fresh", false, "start unfinished instances from the beginning too, instead of resuming them")
	fs.BoolVar(&own.dryRun, "dry-run", false, "say what would run, and stop")
	own.addPace(fs)
	return c
}

// from returns the ids that are chosen, sorted.
func (c choice) from(snap *results.Snapshot) ([]string, error) {
	last := results.Latest(snap.Records)
	known := snap.Asked()
	for _, id := range c.ids {
		if _, found := slices.BinarySearch(known, id); !found {
			return nil, fault.Newf(fault.Usage, "%s has no instance %s", snap.Dir, id).WithHint("see `batch status %s --attempts`", snap.Dir)
		}
	}
	there := map[string]bool{}
	var chosen []string
	for _, id := range known {
		r, ok := last[id]
		if !ok {
			r = results.Record{Outcome: results.Pending}
		}
		there[fmt.Sprintf("%s (%s)", r.Outcome, r.Status)] = true
		if among(c.ids, id) && among(c.statuses, r.Status) && among(c.outcomes, string(r.Outcome)) {
			chosen = append(chosen, id)
		}
	}
	if len(chosen) == 0 {
		return nil, fault.Newf(fault.Usage, "no instance of %s ended so", snap.Dir).
			WithHint("there are: %s", strings.Join(slices.Sorted(maps.Keys(there)), ", "))
	}
	return chosen, nil
}

// among reports whether a value passes a choice that may be none at all.
func among(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(w, value) })
}

// someArgs wants at least these positional arguments.
func someArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		return namedArgs(names...)(c, args[:min(len(args), len(names))])
	}
}
