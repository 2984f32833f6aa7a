package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/run"
)

// runFromManifest returns the flags of the last `batch run` into dir, as its
// manifest has them, overridden by those that were given in own, which
// [runFlags.addPace] defined. Relative paths among them are relative to the directory in
// which that run was started, so the process changes to it.
func runFromManifest(dir string, own *pflag.FlagSet) (runFlags, error) {
	f, m, err := flagsFromManifest(dir, own)
	if err != nil {
		return f, err
	}
	return f, moveTo(m.Dir)
}

// flagsFromManifest is runFromManifest for a caller that stays where it is: paths that are not
// in own are relative to the manifest's Dir.
func flagsFromManifest(dir string, own *pflag.FlagSet) (f runFlags, m *manifest.Manifest, err error) {
	m, err = readManifest(dir)
	if err != nil {
		return f, m, err
	}
	start := slices.Index(m.Argv, "run")
	if m.OnlyGraded() {
		return f, m, fault.Newf(fault.Usage, "%s has predictions that no run of batch made, and their grades", dir).
			WithHint("to continue the grading: `batch grade %s`", printable.ShellWord(dir))
	}
	if talk := m.Talk(); talk != "" {
		return f, m, fault.Newf(fault.Usage, "%s is the directory of a conversation, which `batch %s` continues", dir, talk).
			WithHint("give it again, with -o %s", printable.ShellWord(dir))
	}
	if start < 0 {
		return f, m, fault.Newf(fault.Usage, "%s: its manifest does not name the command that made it", dir).
			WithHint("give that `batch run` again, with -o %s", dir)
	}
	if i := slices.IndexFunc(m.Argv, func(arg string) bool { return strings.Contains(arg, mask.Hidden) }); i >= 0 {
		return f, m, fault.Newf(fault.Usage, "%s: the command that made it contained a secret (%s), which is not stored", dir, m.Argv[i]).
			WithHint("give that `batch run` again, with -o %s", dir)
	}
	c := &cobra.Command{}
	f.add(c)
	if err := c.ParseFlags(m.Argv[start+1:]); err != nil {
		return f, m, fault.New(fault.Usage, "reading the command in "+dir+"'s manifest", err).
			WithHint("another version of batch wrote it: give that `batch run` again, with -o %s", dir)
	}
	if f.output, err = absolute(dir); err != nil {
		return f, m, err
	}
	f.argv, f.dir = m.Argv, dir
	f.named, f.whole = c.Flags().Args(), m.Dataset.Instances
	if f.instances != "" { // the file may have changed, or was standard input
		f.ids = m.Dataset.Instances
	}
	// These have had their effect, and must not have it again.
	f.redo, f.accept = false, nil
	f.quiet, f.json, f.inject = false, false, ""
	overlay(c.Flags(), own)
	return f, m, nil
}

// readManifest reads the manifest of a directory that somebody named.
func readManifest(dir string) (*manifest.Manifest, error) {
	m, err := manifest.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if _, foreign := os.Stat(filepath.Join(dir, "preds.json")); foreign == nil {
			return nil, fault.Newf(fault.Usage, "%s is not a run directory: it has no manifest.json", dir).
				WithHint("to add to another tool's predictions: `batch run -o %s ...`", printable.ShellWord(dir))
		}
		why := "it has no manifest.json"
		if _, err := os.Stat(dir); err != nil {
			why = "it does not exist"
		}
		return nil, results.NotARun(dir, why)
	}
	return m, err
}

// overlay sets the flags that a person gave in own, as they are there.
func overlay(to, own *pflag.FlagSet) {
	own.Visit(func(given *pflag.Flag) {
		target := to.Lookup(given.Name)
		if target == nil {
			return // a flag of the command's own
		}
		if list, ok := given.Value.(pflag.SliceValue); ok {
			_ = target.Value.(pflag.SliceValue).Replace(list.GetSlice()) // it was read once already
			return
		}
		_ = target.Value.Set(given.Value.String())
	})
}

// isHere reports whether [moveTo] would change nothing.
func isHere(dir string) bool {
	here, err := os.Getwd()
	return dir == "" || err == nil && dir == here
}

// moveTo changes the working directory, on which a command's paths depend.
func moveTo(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.Chdir(dir); err != nil {
		return fault.New(fault.Usage, "changing to the directory in which the run was started", err).
			WithHint("run the same `batch run` command with `-o` from the directory that has its files now")
	}
	return nil
}

func (a *app) resumeCommand() *cobra.Command {
	var own runFlags
	c := &cobra.Command{
		Use:   "resume DIR",
		Short: "Continue an interrupted or crashed run",
		Long: `Continue an interrupted or crashed run. It gives the last ` + "`batch run`" + ` into DIR
again: with the command line that the manifest has, in the folder in which it
was started, for all instances that runs into DIR selected. Configurations,
scripts and datasets are read from their files as these are now, and variables
as they are set now. The settings in the manifest are compared with these: what
has changed since an instance got its result, or an unfinished one its first
reply, is refused by name (--accept-changes). Where there is neither, the new
setting is taken.

Instances with a result are kept, and those that failed for infrastructure
reasons are retried. Unfinished ones continue after the last step in their
journal: in their own container if it still runs (reattach), else in a new one
in which the recorded commands run again (replay). A command that was running in
a container that is still there is not run twice: its output is used. A reply
that is in a journal is never paid for again.

  batch resume runs/gpt-5
  batch resume runs/gpt-5 -w 16 --cost-limit-total 50

` + "`batch run`" + ` with the arguments of the last one runs what that one selected.`,
		Args: namedArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			if sweeps.Is(args[0]) {
				return a.resumeSweep(c.Context(), args[0], c.Flags())
			}
			f, err := runFromManifest(args[0], c.Flags())
			if err != nil {
				return err
			}
			return a.run(c.Context(), f)
		},
	}
	own.addDryRun(c.Flags())
	own.addPace(c.Flags())
	own.addOutput(c.Flags())
	return c
}

func (a *app) retryCommand() *cobra.Command {
	var pick run.Choice
	var own runFlags
	c := &cobra.Command{
		Use:   "retry DIR [INSTANCE...]",
		Short: "Run chosen instances of a run directory again",
		Long: `Run chosen instances of a run directory again, with the command line that its
manifest has, as ` + "`batch resume`" + ` does. Their results are removed; their journals
and what they cost are kept. Unfinished instances are resumed, or with --fresh
start from the beginning.

  batch retry runs/gpt-5 --outcome limit
  batch retry runs/gpt-5 --status TimeExceeded,RepeatedFormatError -w 8
  batch retry runs/gpt-5 --verdict unresolved,no_apply
  batch retry runs/gpt-5 django__django-11019

Several conditions together must all hold. Outcomes are submitted, empty, limit,
format, failed, infrastructure, pending and diverged; statuses are those in
exit_statuses.yaml. Verdicts are those of grading: resolved, unresolved,
no_apply, empty_patch, timed_out, infrastructure and ungradeable.`,
		Args: someArgs("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			pick.IDs = args[1:]
			whole := sweeps.Is(args[0])
			var snap *results.Snapshot
			var err error
			if !whole {
				snap, err = results.Read(args[0])
			}
			if err != nil {
				return err
			}
			if pick.Empty() {
				return fault.Newf(fault.Usage, "which instances of %s?", args[0]).
					WithHint("choose with --status, --outcome, --verdict or instance ids; `batch resume` resumes the unfinished ones")
			}
			if whole {
				return a.retrySweep(c.Context(), args[0], pick, own.fresh, c.Flags())
			}
			f, err := runFromManifest(args[0], c.Flags())
			if err != nil {
				return err
			}
			chosen, err := pick.From(snap)
			if err != nil {
				return err
			}
			f.retrying, f.fresh, f.ids, f.named, f.whole = true, own.fresh, chosen, nil, nil
			return a.run(c.Context(), f)
		},
	}
	fs := c.Flags()
	fs.StringSliceVar(&pick.Statuses, "status", nil, "instances with this exit status; separate several with commas")
	fs.StringSliceVar(&pick.Outcomes, "outcome", nil, "instances with this outcome; separate several with commas")
	fs.StringSliceVar(&pick.Verdicts, "verdict", nil, "instances with this verdict of grading; separate several with commas")
	fs.BoolVar(&own.fresh, "fresh", false, "start unfinished instances from the beginning instead of resuming them")
	inSection(fs, "Instances")
	own.addDryRun(fs)
	own.addPace(fs)
	own.addOutput(fs)
	return c
}

// someArgs wants at least these positional arguments.
func someArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		return namedArgs(names...)(c, args[:min(len(args), len(names))])
	}
}
