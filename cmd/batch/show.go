package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/trajectory"
	"batch.example/batch/vocab"
)

// showFlags are the flags of `batch show`, and the attempt to show.
type showFlags struct {
	attempt                  int // -1: the last one
	diff, raw, full, noPager bool
	asJSON                   bool

	dir, instance string
	file          string // a trajectory outside a run directory
}

func (a *app) showCommand() *cobra.Command {
	f := showFlags{attempt: -1}
	c := &cobra.Command{
		Use:   "show DIR INSTANCE",
		Short: "Show what happened in one instance, step by step",
		Long: `Show what happened in one instance, step by step: the model's thoughts, its
commands, their output, exit code and duration, what each call cost, the patch,
and what grading found. INSTANCE may be the beginning of an id; in a sweep, it
is CELL/ID, or ID if only one cell has it. It only reads, and shows the steps so
far of an instance that is running. It also reads the output folders of
mini-swe-agent, SWE-agent and Harbor, and a single file in place of DIR
INSTANCE: .traj.json, SWE-agent's .traj, or ATIF.

  batch show runs/gpt-5 django__django-11019
  batch show runs/gpt-5 django__django-11019 --full | less
  batch show runs/gpt-5 django__django-11019 --diff | git apply
  batch show runs/gpt-5 django__django-11019 --attempt 1

On a terminal the text is colored (unless NO_COLOR is set), wrapped, and shown
by BATCH_PAGER or PAGER, or by less if it is installed.`,
		Args: takes("DIR", "[INSTANCE]"),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("attempt") && f.attempt < 0 {
				return fault.Newf(fault.Usage, "--attempt %d: attempts are numbered from 1", f.attempt)
			}
			c.MarkFlagsMutuallyExclusive("diff", "raw", "full", "json")
			if err := c.ValidateFlagGroups(); err != nil {
				return fault.Newf(fault.Usage, "--diff, --raw, --full and --json exclude each other").WithHint("give one of them")
			}
			return a.show(f, args)
		},
	}
	fs := c.Flags()
	fs.IntVar(&f.attempt, "attempt", -1, "the attempt of this number instead of the last one")
	fs.BoolVar(&f.diff, "diff", false, "print the submitted patch, byte for byte, and nothing else")
	fs.BoolVar(&f.raw, "raw", false, "print the trajectory's JSON as it is on disk")
	fs.BoolVar(&f.asJSON, "json", false, "print the same as one JSON object, whole")
	fs.BoolVar(&f.full, "full", false, "print long texts and outputs whole")
	fs.BoolVar(&f.noPager, "no-pager", false, "do not start a pager")
	fs.Lookup("attempt").DefValue = "0" // help leaves 0 out: the last one has no number of its own
	return c
}

// show finds the attempt and prints it.
func (a *app) show(f showFlags, args []string) error {
	snap, err := f.find(args)
	if err != nil {
		return err
	}
	if f.dir != "" {
		a.hideOfRun(snap.Manifest)
	}
	if f.diff {
		patch, salvaged, err := f.source().Patch()
		none := errors.Is(err, trajectory.ErrNoPatch)
		if (none || errors.Is(err, fs.ErrNotExist)) && f.graded(snap) != nil { // another tool's
			patch, err = f.prediction()
			none = err == nil && len(patch) == 0
		}
		if none {
			return f.noPatch(snap)
		}
		if err != nil {
			return f.explain(snap, err)
		}
		if salvaged {
			fmt.Fprintf(a.stderr, "%s has no submission: this is the salvaged patch, its working-tree diff\n", f.instance)
		}
		return a.exactly(patch)
	}
	if f.raw {
		text, err := f.source().Raw(a.mask)
		if err != nil {
			return f.explain(snap, err)
		}
		return a.exactly(text)
	}
	view, err := f.source().Read(a.mask)
	if errors.Is(err, fs.ErrNotExist) {
		if view = f.graded(snap); view != nil {
			err = nil
		}
	}
	if err != nil {
		return f.explain(snap, err)
	}
	view.Place(snap)
	if f.asJSON {
		var patch *string // null: there is none
		salvaged := false
		if view.Patch != nil {
			patch, salvaged = new(string(view.Patch.Text)), view.Patch.Salvaged
		}
		return a.printJSON(struct {
			*trajectory.View
			Patch    *string `json:"patch"`
			Salvaged bool    `json:"patch_salvaged,omitempty"` // it is the working tree's diff, and was not submitted
		}{view, patch, salvaged})
	}
	return a.page(f.noPager, func(w io.Writer, width int, color bool) error {
		return report.Trajectory(w, view, report.Reading{Full: f.full, Width: width, Color: color})
	})
}

func (f *showFlags) source() trajectory.Source {
	return trajectory.Source{Dir: f.dir, Instance: f.instance, Attempt: f.attempt, File: f.file}
}

// find fills in what args name, and reads the run directory that they are in.
func (f *showFlags) find(args []string) (*results.Snapshot, error) {
	info, err := os.Stat(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Newf(fault.Usage, "%s does not exist", args[0]).WithHint("name a run directory, or a file with a trajectory")
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "reading "+args[0], err).WithHint("name a run directory, or a file with a trajectory")
	}
	if !info.IsDir() {
		if len(args) > 1 {
			return nil, fault.Newf(fault.Usage, "%s is a file: it holds one trajectory, and takes no INSTANCE", args[0]).
				WithHint("give the file alone, or the run directory and an instance id")
		}
		f.file = args[0]
		return &results.Snapshot{}, nil
	}
	snap, id, err := oneInstance(args[0], strings.Join(args[1:], ""))
	if err == nil {
		f.dir, f.instance = snap.Dir, id
	}
	return snap, err
}

// chosen returns the id that want names: wholly, or by a beginning that no other id has.
func chosen(ids []string, want, dir string) (string, error) {
	if slices.Contains(ids, want) {
		return want, nil
	}
	var begin []string
	for _, id := range ids {
		if want != "" && strings.HasPrefix(id, want) {
			begin = append(begin, id)
		}
	}
	switch {
	case len(begin) == 1:
		return begin[0], nil
	case len(begin) > 1:
		return "", fault.Newf(fault.Usage, "%q is the beginning of several instance ids: %s", want, some(begin)).
			WithHint("give more of the id")
	}
	err := fault.Newf(fault.Usage, "%s has no instance %q", dir, want)
	within := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.Contains(id, want) })
	if id := near.Name(want, ids); id != "" {
		return "", err.WithHint("did you mean %s?", id)
	} else if len(within) > 0 {
		return "", err.WithHint("did you mean %s?", strings.Join(within[:min(3, len(within))], " or "))
	}
	return "", err.WithHint("`batch status %s --attempts` lists its instances", dir)
}

// some lists the first ids, and says how many more there are.
func some(ids []string) string {
	const most = 5
	if len(ids) == 0 {
		return "no instances"
	}
	if len(ids) <= most {
		return strings.Join(ids, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most)
}

// graded returns a view of a graded prediction that has no trajectory; nil: it has no grade.
func (f *showFlags) graded(snap *results.Snapshot) *trajectory.View {
	r := results.LatestOf(results.Latest(snap.Records), f.instance)
	if r.Grade == nil || f.attempt >= 0 && f.attempt != r.Attempt {
		return nil
	}
	return &trajectory.View{Instance: f.instance, Attempt: r.Attempt}
}

// prediction is the patch that was graded, byte for byte.
func (f *showFlags) prediction() ([]byte, error) {
	s, err := results.Look(f.dir)
	if err != nil {
		return nil, err
	}
	list, err := s.Predictions([]string{f.instance})
	if err == nil && len(list) == 0 {
		err = fault.Newf(fault.Usage, "preds.json of %s has no prediction of %s", f.dir, f.instance)
	}
	if err != nil {
		return nil, err
	}
	return list[0].Patch, nil
}

// explain names what exists if the attempt does not.
func (f *showFlags) explain(snap *results.Snapshot, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if f.attempt >= 0 {
		return fault.Newf(fault.Usage, "%s has no attempt %d", f.instance, f.attempt).
			WithHint("`batch status %s --attempts` lists the attempts", f.dir)
	}
	why := "it has not started"
	if r := results.LatestOf(results.Latest(snap.Records), f.instance); r.Status != vocab.StatusNotRun {
		why = fmt.Sprintf("its exit status is %s, its outcome %s", printable.Line(string(r.Status)), r.Outcome)
		if r.Attempt == 0 {
			why = "another tool made its prediction: " + why
		}
	}
	return fault.Newf(fault.Usage, "%s has no trajectory: %s", f.instance, why).
		WithHint("`batch status %s` shows how the run stands", f.dir)
}

// noPatch says how the attempt ended that left no patch, or that it runs.
func (f *showFlags) noPatch(snap *results.Snapshot) error {
	name, status, shows := cmp.Or(f.instance, f.file), "no exit status", "how it ended"
	if v, err := f.source().Read(nil); err == nil {
		v.Place(snap)
		name = cmp.Or(f.instance, v.Instance, f.file)
		if v.Record != nil {
			status = cmp.Or(string(v.Record.Status), status)
		}
		status = cmp.Or(string(v.Info.ExitStatus), status)
		if v.Running {
			status, shows = "running", "its steps so far"
		}
	}
	what := strings.TrimSpace(cmp.Or(f.dir, f.file) + " " + f.instance)
	return fault.Newf(fault.Unknown, "%s has no patch (%s)", name, status).
		WithHint("`batch show %s` shows %s", what, shows)
}

// hideOfRun hides the run's secrets: a journal has them, and a trajectory may be read from it.
func (a *app) hideOfRun(m *manifest.Manifest) { hideMatches(a.mask, m) }

// maskOfRun is hideOfRun for a run that is shown beside others.
func (a *app) maskOfRun(m *manifest.Manifest) *mask.Masker {
	own := a.mask.With()
	hideMatches(own, m)
	return own
}

func hideMatches(to *mask.Masker, m *manifest.Manifest) {
	if m == nil {
		return
	}
	for _, p := range m.MaskPatterns() {
		if re, err := regexp.Compile(p); err == nil {
			to.AddPatterns(re)
		}
	}
}
