package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/removed"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/run"
	"batch.example/batch/run/selecting"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// selectFlags are the flags of `batch select`. It shares with `batch grade` the flags about the dataset.
type selectFlags struct {
	gradeFlags
	by, entry string
	limit     time.Duration // on the time of a program
	paths     []string
}

func (a *app) selectCommand() *cobra.Command {
	f := selectFlags{gradeFlags: newGradeFlags()}
	c := &cobra.Command{
		Use:   "select DIR...",
		Short: "Choose one of several attempts at each instance: best of n",
		Long: `Choose one of several attempts at each instance (best of n), and make a run
directory OUT of the chosen predictions. DIR is the folder of a sweep: its
attempts at one entry are the candidates. Or it is a run directory: several are
the attempts 1, 2 and so on.

  batch select runs/sweep --by majority -o runs/majority
  batch select runs/a runs/b runs/c --by ./choose.py -o runs/chosen
  batch grade runs/majority && batch compare runs/a runs/majority

--by majority  the patch that most attempts made: equal byte by byte, except
               for git's index lines and the text after a hunk's line numbers.
               Between equal numbers, the smaller number of the attempt decides.
--by PROGRAM   the patch whose number the program prints. It reads one JSON
               object on standard input, with instance_id, repo, base_commit,
               image, problem_statement and candidates: a list with number,
               attempts, patch and patch_sha256 of each different patch.

An empty patch is chosen only if all are empty. A program is asked where two
patches are left; it runs without the variables in which batch finds keys, in
the current folder, for --timeout at most, and is then killed with all that it
started. If it fails or prints something else than one of the numbers, the
instance has no selection, and the same command asks about it again. Two
programs are in ` + "`batch help sweeps`" + `: one runs tests, one asks a model.

A grade of the chosen patch is copied into OUT, so that the rate is known
without grading again. OUT/selection.jsonl has the choices, their reasons, and
the digest and the standard error of the program. Costs in OUT include all
attempts. The same command again continues an interrupted one.

Exit codes: 0 every instance has a selection, 1 it could not continue, 2 usage,
3 some have none, 4 a directory is in use, 130 interrupted.`,
		RunE: func(c *cobra.Command, args []string) error {
			f.own, f.paths = c.Flags(), args
			if err := f.check(); err != nil {
				return err
			}
			return a.selectAttempts(c.Context(), f)
		},
	}
	f.add(c.Flags())
	return c
}

func (f *selectFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.by, "by", "", "how to choose: majority, or a `PROGRAM`")
	fs.StringVarP(&f.Output, "output", "o", "", "run directory for what is chosen")
	fs.StringVar(&f.entry, "entry", "", "`NAME` of the entry in the sweep's folder")
	fs.DurationVar(&f.limit, "timeout", 10*time.Minute, "limit on the time of the program at an instance")
	f.Workers = 4
	fs.IntVarP(&f.Workers, "workers", "w", f.Workers, "instances to decide at once")
	inSection(fs, "Selecting")
	fs.StringVar(&f.Subset, "subset", "", "dataset of the attempts, for a program (default: the one that their manifest names)")
	addVersion(fs, &f.Request)
	inSection(fs, "Dataset")
	f.outputFlags.add(fs)
	fs.Lookup("json").Usage = "print the result as one JSON object, and no progress"
	addMask(fs, &f.Request, "patches")
	inSection(fs, "Output")
}

// check refuses flags with values that allow no selection.
func (f *selectFlags) check() error {
	instead := removed.Instead("batch select --by=" + f.by)
	switch {
	case f.by == "":
		return fault.Newf(fault.Usage, "--by is missing").WithHint("choose by majority, or by a program")
	case instead != "":
		return fault.Newf(fault.Usage, "--by %s was removed", f.by).WithHint("%s", instead)
	case f.Output == "":
		return fault.Newf(fault.Usage, "-o is missing").WithHint("name a directory for what is chosen")
	case f.limit <= 0:
		return fault.Newf(fault.Usage, "--timeout %v: expected a time above 0, such as 10m", f.limit)
	case f.Workers < 1:
		return fault.Newf(fault.Usage, "--workers %d: expected at least 1", f.Workers)
	}
	return run.CheckRequest(f.Request)
}

// selectSession is one `batch select` after its flags are read.
type selectSession struct {
	gradeSession
	flags selectFlags
	entry scores.Side
}

func (a *app) selectAttempts(ctx context.Context, f selectFlags) error {
	entry, err := entryOf(f.paths, f.entry)
	if err != nil {
		return err
	}
	if err := a.process().HideMatches(f.MaskPatterns); err != nil {
		return err
	}
	a.hideOfEntry(entry)
	s := &selectSession{gradeSession: gradeSession{app: a, started: time.Now()}, flags: f, entry: entry}
	c, err := s.config(ctx)
	if err != nil {
		return err
	}
	selected, err := selecting.Open(ctx, c)
	if err != nil {
		return err
	}
	if selected.Todo() > 0 {
		err = s.session(selected).work(ctx, selected)
	}
	return s.conclude(selected, err)
}

// config returns the attempts to select from, and how. It refuses what can be refused before the
// directory is touched.
func (s *selectSession) config(ctx context.Context) (c selecting.Config, err error) {
	f := &s.flags
	if err := run.RefuseSweep(f.Output); err != nil {
		return c, err
	}
	for _, a := range s.entry.Runs {
		if same(a.Path, f.Output) {
			return c, fault.Newf(fault.Usage, "-o %s: it is one of the attempts", f.Output).WithHint("name another directory")
		}
	}
	c = selecting.Config{Output: f.Output, Attempts: s.entry.Runs, Tell: s.tell, Width: runner.NewWidth(f.Workers)}
	if f.by != selecting.ByMajority {
		if c.Program, err = selecting.NewProgram(f.by, s.withoutSecrets(os.Environ()), f.limit); err != nil {
			return c, err
		}
	}
	if c.Program != nil || f.given("subset") {
		if err := s.openDataset(ctx); err != nil {
			return c, err
		}
		c.Instances = s.ds.Instances
	}
	c.Store = results.Options{Mask: s.mask}
	c.About, err = s.about()
	return c, err
}

// same reports whether two paths name one directory.
func same(a, b string) bool {
	inA, errA := os.Stat(a)
	inB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(inA, inB)
}

// withoutSecrets returns the variables (NAME=value) in which no secret is found.
func (a *app) withoutSecrets(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, value, _ := strings.Cut(variable, "=")
		return len(mask.Of(name, value)) > 0 || a.mask.Text(value) != value
	})
}

// openDataset reads the dataset of the first attempt.
func (s *selectSession) openDataset(ctx context.Context) error {
	g := &s.gradeSession
	g.flags = s.flags.gradeFlags
	dir := s.firstRun()
	if dir == "" && !g.flags.given("subset") {
		return fault.Newf(fault.Usage, "%s has no manifest.json that names its dataset", s.entry.Runs[0].Path).
			WithHint("name it with --subset, such as --subset verified")
	}
	if err := g.configure(dir); err != nil {
		return err
	}
	g.flags.Only = nil // each attempt may have others
	return g.read(ctx)
}

// firstRun returns the first attempt's directory that has a manifest, or "".
func (s *selectSession) firstRun() string {
	for _, a := range s.entry.Runs {
		if a.Snapshot != nil && a.Snapshot.Manifest != nil {
			return a.Path
		}
	}
	return ""
}

// about returns the manifest of the directory; nil if no attempt names its dataset.
func (s *selectSession) about() (*manifest.Manifest, error) {
	m := s.manifest("select")
	known := s.ds != nil
	var ids []string
	for _, a := range s.entry.Runs {
		for id := range a.Scores {
			ids = append(ids, id)
		}
		if a.Snapshot == nil || a.Snapshot.Manifest == nil {
			continue
		}
		d := a.Snapshot.Manifest.Dataset
		switch {
		case !known:
			m.Dataset = manifest.Dataset{Name: d.Name, Split: d.Split, Revision: d.Revision, Digest: d.Digest}
			m.Dataset.Name = run.DatasetOf(a.Snapshot.Manifest) // a file's name is relative to its own manifest's folder
			known = true
		case d.Digest != m.Dataset.Digest:
			return nil, fault.Newf(fault.Usage, "%s is of another dataset than the attempts before it: %s, not %s", a.Path, d.Title(), m.Dataset.Title())
		}
	}
	if !known {
		return nil, nil
	}
	slices.Sort(ids)
	m.Dataset.Instances = slices.Compact(ids)
	m.Dataset.Count = len(m.Dataset.Instances)
	return m, nil
}

// session returns how a directory is worked on.
func (s *selectSession) session(d *selecting.Selecting) session {
	return session{
		app: s.app, started: s.started, quiet: s.flags.quiet || s.flags.json,
		about:  vocab.Event{Directory: d.Output, Model: "--by " + s.flags.by, Workers: d.Width.N(), Total: len(d.Selections()) + d.Todo()},
		saving: "ending what runs", again: "the same command",
	}
}

// conclude writes the predictions, prints the result and chooses how the command ends.
func (s *selectSession) conclude(d *selecting.Selecting, ended error) error {
	ended = s.also(ended, d.Write())
	return s.session(d).conclude(d, ended, func(out io.Writer) (int, error) {
		if ended != nil {
			return 0, nil
		}
		return d.Missing(), s.writeBest(out, d)
	})
}
