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
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
)

// runFromManifest returns the flags of the last `batch run` into dir, as its
// manifest tells them, with those on top that were given in own, which
// [runFlags.addPace] defined. The paths among them are as that run meant them,
// for which the process moves to the folder that it was started in.
func runFromManifest(dir string, own *pflag.FlagSet) (runFlags, error) {
	var f runFlags
	m, err := readManifest(dir)
	if err != nil {
		return f, err
	}
	start := slices.Index(m.Argv, "run")
	if start < 0 {
		return f, fault.Newf(fault.Usage, "%s: its manifest does not tell the command that made it", dir).
			WithHint("give that `batch run` again, with -o %s", dir)
	}
	if i := slices.IndexFunc(m.Argv, func(arg string) bool { return strings.Contains(arg, mask.Hidden) }); i >= 0 {
		return f, fault.Newf(fault.Usage, "%s: the command that made it held a secret (%s), which is not kept", dir, m.Argv[i]).
			WithHint("give that `batch run` again, with -o %s", dir)
	}
	c := &cobra.Command{}
	f.add(c)
	if err := c.ParseFlags(m.Argv[start+1:]); err != nil {
		return f, fault.New(fault.Usage, "reading the command in "+dir+"'s manifest", err).
			WithHint("another version of batch wrote it: give that `batch run` again, with -o %s", dir)
	}
	if f.output, err = filepath.Abs(dir); err != nil {
		return f, fault.New(fault.Host, "finding the working directory", err)
	}
	f.argv = m.Argv
	if f.instances != "" { // the file may be another by now, or was standard input
		f.ids = m.Dataset.Instances
	}
	// What these said has been done, and must not be done again.
	f.redo, f.accept = false, nil
	f.quiet, f.json, f.inject = false, false, ""
	overlay(c.Flags(), own)
	return f, moveTo(m.Dir)
}

// readManifest reads the manifest of a directory that somebody named.
func readManifest(dir string) (*manifest.Manifest, error) {
	m, err := manifest.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Newf(fault.Usage, "%s is no run directory: it has no manifest.json", dir).
			WithHint("name the directory that `batch run -o` wrote into")
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

// moveTo changes the working directory, on which a command's paths depend.
func moveTo(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.Chdir(dir); err != nil {
		return fault.New(fault.Usage, "going to where the run was started", err).
			WithHint("give the same `batch run` again from where its files are now, with -o")
	}
	return nil
}

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
