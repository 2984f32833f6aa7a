package main

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
	"batch.example/batch/run/control"
	"batch.example/batch/run/sweep"
)

// continued returns the last `batch run` into dir. The flags that were given replace its values;
// own has those of the command alone.
func (a *app) continued(dir string, own runFlags, flags *pflag.FlagSet) (runFlags, error) {
	r, m, err := run.ReadRequest(dir, a.process())
	if err != nil {
		return own, err
	}
	f := own
	f.Request = over(r, flags)
	f.Settled, f.asked, f.argv, f.own = true, &r, m.Argv, flags
	return f, nil
}

// over returns r with the values of the flags that were given. It leaves the configurations to the
// command, which replaces them or adds to them.
func over(r run.Request, given *pflag.FlagSet) run.Request {
	var f runFlags
	to := pflag.NewFlagSet("", pflag.ContinueOnError)
	addConfig(to, &f.Request)
	addPrefix(to, &f.Request)
	addAssets(to, &f.Request)
	f.addPace(to)
	f.addMask(to)
	f.Request = r // adding the flags has set their defaults
	given.Visit(func(flag *pflag.Flag) {
		if own := to.Lookup(flag.Name); own != nil && flag.Name != "config" {
			set(own.Value, valuesOf(flag))
		}
	})
	if path, err := filepath.Abs(f.Assets); err == nil && given.Changed("assets") { // r starts in another folder
		f.Assets = path
	}
	return f.Request
}

// valuesOf returns the values of a flag, of which only lists have several.
func valuesOf(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{flag.Value.String()}
}

// set sets the values of another flag of the same kind.
func set(to pflag.Value, values []string) {
	if list, ok := to.(pflag.SliceValue); ok {
		_ = list.Replace(values) // the other flag has them
		return
	}
	_ = to.Set(values[0])
}

func (a *app) resumeCommand() *cobra.Command {
	own := newRunFlags()
	c := &cobra.Command{
		Use:   "resume DIR",
		Short: "Continue an interrupted or crashed run",
		Long: `Continue an interrupted or crashed run. It gives the last ` + "`batch run`" + ` into DIR
again: its request, as the manifest has it, for all instances that runs into DIR
selected. It may be given in any folder: relative paths begin at the folder in
which that run was started. Configurations, scripts and datasets are read from
their files as these are now, and variables as they are set now. The settings in
the manifest are compared with these. A setting that has changed since an
instance got its result, or an unfinished one its first reply, is refused by
name (--accept-changes). Instances without either take the new setting.

Instances with a result are kept, and infrastructure failures are retried.
Unfinished instances continue after the last step in their journal: in their own
container if it still runs (reattach), otherwise in a new one in which the
recorded commands run again (replay). A command that was running in a container
that is still there is not run twice: its output is used. A reply that is in a
journal is never paid for again.

  batch resume runs/gpt-5
  batch resume runs/gpt-5 -w 16 --cost-limit-total 50

` + "`batch run`" + ` with the arguments of the last one runs what that one selected.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.continueAny(c.Context(), args[0], nil, own, c.Flags())
		},
	}
	own.addContinuing(c.Flags())
	return c
}

func (a *app) retryCommand() *cobra.Command {
	var pick run.Choice
	own := newRunFlags()
	c := &cobra.Command{
		Use:   "retry DIR [INSTANCE...]",
		Short: "Run chosen instances of a run directory again",
		Long: `Run chosen instances of a run directory again, with the request that its
manifest has, as ` + "`batch resume`" + ` does. Their results are removed; their
journals and what they cost are kept. Unfinished instances are resumed, or with
--fresh start from the beginning.

  batch retry runs/gpt-5 --outcome limit
  batch retry runs/gpt-5 --status TimeExceeded,RepeatedFormatError -w 8
  batch retry runs/gpt-5 --verdict unresolved,no_apply
  batch retry runs/gpt-5 django__django-11019

Several conditions together must all hold. Outcomes are submitted, empty, limit,
format, failed, infrastructure, pending and diverged. exit_statuses.yaml lists
the statuses. Grading's verdicts are resolved, unresolved, no_apply,
empty_patch, timed_out, infrastructure and ungradeable.`,
		RunE: func(c *cobra.Command, args []string) error {
			pick.IDs = args[1:]
			return a.continueAny(c.Context(), args[0], &pick, own, c.Flags())
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&pick.Statuses, "status", nil, "instances with this exit status; separate several with commas")
	fs.StringSliceVar(&pick.Outcomes, "outcome", nil, "instances with this outcome; separate several with commas")
	fs.StringSliceVar(&pick.Verdicts, "verdict", nil, "instances with this verdict of grading; separate several with commas")
	fs.BoolVar(&own.Fresh, "fresh", false, "start unfinished instances from the beginning instead of resuming them")
	inSection(fs, "Instances")
	own.addContinuing(fs)
	return c
}

// addContinuing adds the flags of the commands that continue a directory.
func (f *runFlags) addContinuing(fs *pflag.FlagSet) {
	f.addDryRun(fs)
	addAssets(fs, &f.Request)
	addEngine(fs, &f.Engines)
	f.addPace(fs)
	fs.BoolVar(&f.trust, "trust", false, "continue although the directory names addresses, programs of this machine or variables that\nthis command line does not, or belongs to another user: it is asked once")
	inSection(fs, "Run")
	f.addOutput(fs)
}

// continueAny continues the run in dir, or all cells of a sweep. With pick, only its instances run,
// again. Flags that were given replace the run's values; own has those of the command alone.
func (a *app) continueAny(ctx context.Context, dir string, pick *run.Choice, own runFlags, flags *pflag.FlagSet) error {
	whole := sweeps.Is(dir)
	var f runFlags
	var err error
	if !whole {
		f, err = a.continued(dir, own, flags)
	}
	switch {
	case err != nil:
		return err
	case pick != nil && pick.Empty():
		return fault.Newf(fault.Usage, "which instances of %s?", dir).
			WithHint("choose with --status, --outcome, --verdict or instance ids; `batch resume` resumes the unfinished ones")
	case whole:
		return a.continueSweep(ctx, dir, pick, own, flags)
	case pick != nil:
		snap, err := results.Read(dir)
		if err != nil {
			return err
		}
		if f.Only, err = pick.From(snap); err != nil {
			return err
		}
		f.Again, f.Also, f.Named = true, nil, nil
	}
	return a.run(ctx, f)
}

// continueSweep continues all cells of a sweep. With pick, only cells with instances of pick
// continue, and these instances run again. Flags that were given replace the cells' values; own
// has those of the command alone.
func (a *app) continueSweep(ctx context.Context, dir string, pick *run.Choice, own runFlags, flags *pflag.FlagSet) error {
	s, err := sweep.Read(dir, a.process())
	if err != nil {
		return err
	}
	for i := range s.Cells {
		s.Cells[i].Run = over(s.Cells[i].Run, flags)
	}
	if flags.Changed("cost-limit-total") {
		s.LimitCost(own.CostLimit)
	}
	own.own, own.Settled = flags, true
	if pick != nil {
		if err := s.Retry(*pick); err != nil {
			return err
		}
	}
	return a.runSweep(ctx, s, own)
}

// underControl gives a request the width and the cost limit that batch ctl set in dir, unless the
// command line has others. It returns what the command line has.
func (f *runFlags) underControl(dir string, r *run.Request) (*control.Begin, error) {
	h, err := run.ReadControl(dir)
	if err != nil {
		return nil, err
	}
	in, begin := h.InForce(), control.Begin{}
	part, err := dataset.ParseShard(r.Shard)
	if err != nil {
		return nil, err
	}
	switch {
	case f.given("workers"):
		begin.Width = max(1, r.Workers)
	case in.Width > 0:
		r.Workers = in.Width
	}
	switch {
	case f.given("cost-limit-total"):
		limit := r.CostLimit / float64(max(1, part.N))
		begin.Budget = &limit
	case in.Budget != nil:
		r.CostLimit = *in.Budget * float64(max(1, part.N))
	}
	return &begin, nil
}

// limitNow returns the cost limit of work in dir that has ended: batch ctl may have changed it.
func limitNow(dir string, limit float64, part dataset.Shard) float64 {
	if h, err := run.ReadControl(dir); err == nil && h.InForce().Budget != nil {
		return *h.InForce().Budget * float64(max(1, part.N))
	}
	return limit
}

// underControl is like underControl of a run, for all cells.
func (s *sweeping) underControl() (err error) {
	for i := range s.Cells {
		r := &s.Cells[i].Run
		if s.Control, err = s.flags.underControl(s.Dir, r); err != nil {
			return err
		}
		s.LimitCost(r.CostLimit)
	}
	return nil
}
