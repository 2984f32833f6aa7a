package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
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

// entriesOf returns the entries of a sweep's folder, or one entry that has several run
// directories as its attempts. Only is an entry's name in a sweep, or empty.
func entriesOf(paths []string, only string) ([]scores.Side, error) {
	var list []scores.Side
	for i, path := range paths {
		if slices.ContainsFunc(paths[:i], func(before string) bool { return same(before, path) }) {
			return nil, fault.Newf(fault.Usage, "%s is named twice: an attempt counts once", path)
		}
		read, err := scores.Read(path)
		if err != nil {
			return nil, err
		}
		if only == "" && len(paths) > 1 && len(read) != 1 {
			return nil, fault.Newf(fault.Usage, "%s has %d entries: expected one, with some of its attempts", path, len(read)).
				WithHint("name one with --entry, or the run directories of its attempts")
		}
		list = append(list, read...)
	}
	if only != "" {
		return named(list, only)
	}
	if len(paths) == 1 {
		return list, nil
	}
	one := scores.Side{Name: list[0].Name, Model: list[0].Model}
	for i, e := range list {
		if i > 0 && len(e.Runs) > 0 {
			one.Name += ", " + e.Name
		}
		if e.Model != one.Model {
			one.Model = ""
		}
		one.Runs = append(one.Runs, e.Runs...)
	}
	return []scores.Side{one}, nil
}

// entryOf returns the only entry to select from.
func entryOf(paths []string, only string) (scores.Side, error) {
	list, err := entriesOf(paths, only)
	if err != nil {
		return scores.Side{}, err
	}
	if len(list) == 0 {
		return scores.Side{}, fault.Newf(fault.Usage, "%s has no entries", paths[0])
	}
	if len(list) > 1 {
		return scores.Side{}, fault.Newf(fault.Usage, "%s has %d entries: which one?", paths[0], len(list)).
			WithHint("name it with --entry: %s", entryNames(list))
	}
	return list[0], nil
}

// named returns the entries with a name, as one.
func named(list []scores.Side, name string) ([]scores.Side, error) {
	var one scores.Side
	for _, e := range list {
		if e.Name == name {
			one.Name, one.Model = e.Name, e.Model
			one.Runs = append(one.Runs, e.Runs...)
		}
	}
	if one.Name == "" {
		return nil, fault.Newf(fault.Usage, "--entry %q: there is no such entry", name).
			WithHint("there are %s", entryNames(list))
	}
	return []scores.Side{one}, nil
}

// hideOfEntry hides what the runs of its attempts were asked to hide.
func (a *app) hideOfEntry(e scores.Side) {
	for _, attempt := range e.Runs {
		if attempt.Snapshot != nil {
			a.hideOfRun(attempt.Snapshot.Manifest)
		}
	}
}

func entryNames(list []scores.Side) string {
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = e.Name
	}
	return strings.Join(names, ", ")
}
