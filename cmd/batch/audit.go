package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/audit"
	"batch.example/batch/fault"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/removed"
	"batch.example/batch/run"
)

// auditFlags are the flags of `batch audit`.
type auditFlags struct {
	detectors    []string
	list, asJSON bool
	attempts     bool
	named        bool // --subset is given
	dataset      run.Request
}

func (a *app) auditCommand() *cobra.Command {
	f := auditFlags{dataset: run.NewRequest()}
	c := &cobra.Command{
		Use:   "audit DIR... [INSTANCE...]",
		Short: "Look for signs that results are not the agent's own work",
		Long: `Look in attempts for signs that a result is not the agent's own work: network
use, later git history, the gold patch, edits of tests, and others. A finding
is a place to read: it proves nothing by itself, and no score changes. It names
its instance, step and evidence. No finding proves nothing either.

  batch audit runs/gpt-5
  batch audit runs/gpt-5 django__django-11019 --attempts
  batch audit runs/gpt-5 --detector network --detector git-history
  batch audit --list
  batch audit runs/gpt-5 --json | jq -r 'select(.evidence) | .instance_id'

DIR is a run directory, also while the run works, a sweep, a folder of
trajectories of mini-swe-agent, or a .traj.json file. The last attempt at each
instance is read, which is the one that counts; --attempts reads all. INSTANCE
may be the beginning of an id, or CELL/ID in a sweep.

Some detectors compare with the dataset's row. The dataset is the run's own, if
it is on this machine, or the one that --subset names. Without it, they report
that they checked nothing. What is read and found: batch help auditing

Exit codes: 0 with and without findings, 2 usage.`,
		Args: func(c *cobra.Command, args []string) error {
			if f.list {
				return takes()(c, args)
			}
			return takes("DIR...", "[INSTANCE...]")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			if f.list {
				return a.listDetectors(f.asJSON)
			}
			return a.audit(c.Context(), f, args)
		},
	}
	fs := c.Flags()
	fs.StringArrayVar(&f.detectors, "detector", nil, "report only what the detector of this `NAME` finds; may be repeated")
	fs.BoolVar(&f.attempts, "attempts", false, "read all attempts, not only the last at each instance")
	fs.StringVar(&f.dataset.Subset, "subset", "", "dataset of the rows, in place of the run's own: a name as for batch run")
	addVersion(fs, &f.dataset)
	inSection(fs, "What is checked")
	fs.BoolVar(&f.list, "list", false, "list the detectors: what each looks for, and what a finding does not\nprove")
	fs.BoolVar(&f.asJSON, "json", false, "print a JSON object per line: for each finding, and for each detector that\ncould not check an attempt")
	inSection(fs, "Output")
	return c
}

// check refuses flags that cannot be satisfied.
func (f *auditFlags) check(c *cobra.Command) error {
	f.named = c.Flags().Changed("subset")
	if !f.named && (f.dataset.Split != "" || f.dataset.Revision != "") {
		return fault.Newf(fault.Usage, "--split and --revision belong to --subset").WithHint("name the dataset with --subset")
	}
	known := detectorNames()
	for _, name := range f.detectors {
		if instead := removed.Instead("batch audit --detector=" + name); instead != "" {
			return fault.Newf(fault.Usage, "--detector %s was removed", name).WithHint("%s", instead)
		}
		if !slices.Contains(known, name) {
			return fault.Newf(fault.Usage, "--detector %q: there is no such detector", name).
				WithHint("%s", near.Hint(near.Name(name, known), "`batch audit --list` lists them"))
		}
	}
	return nil
}

func detectorNames() []string {
	var names []string
	for _, d := range audit.Detectors() {
		names = append(names, d.Name)
	}
	return names
}

// wants reports whether a detector's findings are asked for.
func (f auditFlags) wants(detector string) bool {
	return f.detectors == nil || slices.Contains(f.detectors, detector)
}

// audit audits what the arguments name, and prints what was found.
func (a *app) audit(ctx context.Context, f auditFlags, args []string) error {
	places, keep, err := auditArguments(args)
	if err != nil {
		return err
	}
	by := auditor{app: a, all: f.attempts}
	if f.named {
		if by.named, _, err = a.load(ctx, f.dataset); err != nil {
			return err
		}
	}
	s := auditSheet{flags: f, several: len(places) > 1, json: a.jsonLines()}
	said := map[string]int{}
	for _, p := range places {
		notes, err := by.place(ctx, p, func(id string) bool { return keep(p, id) }, s.add)
		if err != nil {
			return err
		}
		for _, note := range notes {
			if said[note]++; said[note] == 1 && len(said) <= mostNotes {
				a.tell(note)
			}
		}
	}
	if more := len(said) - mostNotes; more > 0 {
		a.tell(fmt.Sprintf("and %s like these", printable.Count(more, "note", "notes")))
	}
	if f.asJSON {
		return s.failed
	}
	return s.write(a.stdout)
}

// mostNotes is how many notes about trajectories and datasets are printed.
const mostNotes = 10

// auditArguments reads DIR... [INSTANCE...]. After the first DIR, a path that is not the whole name of an
// instance is another DIR. Keep accepts the instances that are named, or all.
func auditArguments(args []string) (places []*auditPlace, keep func(p *auditPlace, id string) bool, err error) {
	var names []string
	for i, arg := range args {
		_, missing := os.Stat(arg)
		name := strings.TrimSuffix(arg, "/")
		whole := slices.ContainsFunc(places, func(p *auditPlace) bool {
			return slices.Contains(p.ids, name) || slices.Contains(p.ids, strings.TrimPrefix(name, p.cell+"/"))
		})
		if i > 0 && (missing != nil || whole) {
			names = append(names, arg)
			continue
		}
		list, err := placesIn(arg)
		if err != nil {
			return nil, nil, err
		}
		places = append(places, list...)
	}
	if names == nil {
		return places, func(*auditPlace, string) bool { return true }, nil
	}
	var holders []holder
	for _, p := range places {
		if p.file != "" {
			return nil, nil, fault.Newf(fault.Usage, "%s has trajectories without a run directory, and takes no INSTANCE", p.name).
				WithHint("give the file alone")
		}
		holders = append(holders, holder{dir: p.dir, cell: p.cell, ids: p.ids})
	}
	wanted := map[string]bool{}
	for _, name := range names {
		has, id, err := meant(holders, name, args[0])
		if err != nil {
			return nil, nil, err
		}
		for _, h := range has {
			wanted[filepath.Join(h.dir, id)] = true
		}
	}
	return places, func(p *auditPlace, id string) bool { return wanted[filepath.Join(p.dir, id)] }, nil
}
