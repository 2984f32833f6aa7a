package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"batch.example/batch/fault"
	"batch.example/batch/internal/idlist"
	"batch.example/batch/report/compare"
	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// compareFlags are the flags of `batch compare`.
type compareFlags struct {
	compare.Options

	list, markdown, asJSON bool
	gates                  []string // for Options
	instances              string
}

func (a *app) compareCommand() *cobra.Command {
	f := compareFlags{Options: compare.Options{MaxLeftOut: 0.5, Bootstrap: stats.Bootstrap{Level: 0.95}}}
	c := &cobra.Command{
		Use:   "compare A [B...]",
		Short: "Compare how models scored: which is better, by how much, how sure",
		Long: `Compare how models scored, paired by instance: which is better, by how much and
how sure that is. Each B is compared with A, the baseline. An instance that one
side has no score for (an infrastructure failure, not graded, quarantined) is
left out of both, and counted. What cannot be distinguished is called tied.

A and B are run directories, sweeps (alone: its entries are compared), output
folders of mini-swe-agent with an official report, official reports
(MODEL.RUN.json, or a tree of report.json) or submissions to the leaderboard.
NAME=PATH gives a name, NAME=PATH,PATH makes several paths the attempts of one.

  batch compare runs/base runs/new
  batch compare runs/base runs/new --gate 'resolved >= -1pt' --markdown
  batch compare base=runs/1,runs/2 new=runs/3,runs/4 --list
  batch compare runs/new --gate 'resolved >= 60%'
  batch compare runs/base runs/new --json | jq '{n, difference, ci_low, ci_high}'

A gate passes if all of the interval satisfies it: 'resolved >= -1pt' (not worse
by more than a point), 'resolved > 0pt' (better), 'cost <= +10%' (also steps and
seconds); 'resolved >= 60%' is on the rate of one run, and needs no A. No gate
passes while more than --max-left-out of the instances of a side, or of those
that both were asked for, have no score.

One test, a bootstrap of repositories, gives the interval of a difference of
rates, its p value and the verdict. With more than two entries, p after Holm's
correction for all pairs decides, or after that of Westfall and Young if there
are too few repositories for Holm's. With fewer than six repositories, instances
are resampled: the result is of these repositories, not of others like them.

--list and --json have the steps, the cost and the digest of the patch of both
sides where they differ. batch view puts the patches side by side.

An error in a report of the SWE-bench harness counts as not resolved, as in the
harness's own figure: it does not say whether the patch or the machine failed.
A note counts them.

Exit codes: 0 compared, and all gates passed; 2 usage; 5 a gate failed.`,
		RunE: func(_ *cobra.Command, args []string) error { return a.compare(f, args) },
	}
	fs := c.Flags()
	fs.BoolVar(&f.AllPairs, "all-pairs", false, "compare each with each, not only with A")
	fs.StringArrayVar(&f.gates, "gate", nil, "`CONDITION` that the difference must satisfy; may be repeated")
	fs.Var(&value{"50%", "share", func(text string) error { return readShare(text, &f.MaxLeftOut) }}, "max-left-out", "`SHARE` of the instances of a side, or of both, that may have no score\nwhere a gate passes")
	fs.StringVar(&f.instances, "instances", "", "`FILE` with the ids of the dataset, one per line, for reports that\nlist only resolved instances")
	inSection(fs, "What is compared")
	fs.BoolVar(&f.list, "list", false, "list the instances on which two differ, with steps, cost and the digest of\nthe patch on both sides")
	fs.BoolVar(&f.markdown, "markdown", false, "print Markdown, for a pull request")
	fs.BoolVar(&f.asJSON, "json", false, "print everything as one JSON object")
	inSection(fs, "Output")
	fs.Var(&value{"0.95", "level", func(text string) error { return readLevel(text, &f.Bootstrap.Level) }}, "level", "`LEVEL` of the intervals")
	fs.IntVar(&f.Bootstrap.Draws, "draws", 10_000, "`NUMBER` of draws of the bootstrap")
	fs.Uint64Var(&f.Bootstrap.Seed, "seed", 1, "`NUMBER` that the draws begin from")
	inSection(fs, "Statistics")
	return c
}

// readLevel reads the level of an interval.
func readLevel(text string, to *float64) (err error) {
	if *to, err = strconv.ParseFloat(text, 64); err != nil || !(*to >= 0.5 && *to <= 0.999) {
		return fmt.Errorf("expected a number from 0.5 to 0.999, such as 0.95")
	}
	return nil
}

// readShare reads a part of a whole, as 80%.
func readShare(text string, to *float64) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || !(v > 0 && v <= 100) {
		return fmt.Errorf("expected a percentage above 0%%, such as 80%%")
	}
	*to = v / 100
	return nil
}

// compare reads, compares and prints.
func (a *app) compare(f compareFlags, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	entries, err := f.read(args)
	if err != nil {
		return err
	}
	if len(entries) == 1 {
		return a.compareOne(f, entries[0])
	}
	c := compare.New(entries, f.Options)
	if p, nothing := c.Nothing(); nothing {
		return nothingInCommon(p)
	}
	text := c.Write
	if f.markdown {
		text = c.WriteMarkdown
	}
	return a.showCompared(f.asJSON, c, c.Gates, func() error { return text(a.stdout, f.list) })
}

// showCompared prints what was compared, as JSON or as text, and returns errGate if a gate failed.
func (a *app) showCompared(asJSON bool, compared interface{ Passed() bool }, gates []compare.Ruling, text func() error) (err error) {
	if asJSON {
		err = a.printJSON(compared)
		for _, r := range gates {
			fmt.Fprintln(a.stderr, r.Text)
		}
	} else {
		err = text()
	}
	if err == nil && !compared.Passed() {
		err = errGate
	}
	return err
}

// check refuses flags with values that allow no comparison, and reads the gates.
func (f *compareFlags) check() error {
	if f.asJSON && f.markdown {
		return fault.Newf(fault.Usage, "--json and --markdown exclude each other")
	}
	const least, most = 1000, 10_000_000
	if draws := f.Bootstrap.Draws; draws < least || draws > most {
		return fault.Newf(fault.Usage, "--draws %d: expected a number from %d to %d", draws, least, most)
	}
	if f.Bootstrap.Seed == 0 {
		return fault.Newf(fault.Usage, "--seed 0: expected a number from 1")
	}
	for _, text := range f.gates {
		g, err := compare.ParseGate(text)
		if err != nil {
			return fault.Newf(fault.Usage, "--gate %q: %w", text, err).WithHint("%s", compare.GateHelp)
		}
		f.Gates = append(f.Gates, g)
	}
	return nil
}

// read reads the entries: at least two, or with a gate at least one.
func (f compareFlags) read(args []string) ([]scores.Side, error) {
	var o scores.Options
	if f.instances != "" {
		text, err := os.ReadFile(f.instances)
		if err != nil {
			return nil, fault.New(fault.Usage, "reading --instances", err)
		}
		if o.Instances, err = idlist.Parse(f.instances, string(text)); err != nil {
			return nil, err
		}
	}
	entries, err := o.ReadAll(args)
	if err == nil && len(entries) < 2 && (len(entries) == 0 || len(f.gates) == 0) {
		err = fault.Newf(fault.Usage, "there is nothing to compare %s with", args[0]).
			WithHint("name another run directory, or the folder of a sweep with several entries; or say with --gate 'resolved >= 60%%' what one must reach")
	}
	return entries, err
}

// nothingInCommon says why a pair has no instance with a score on both sides.
func nothingInCommon(p compare.Pair) error {
	err := fault.Newf(fault.Usage, "no instance has a score in both %s and %s", p.A, p.B)
	notGraded := p.LeftOut.A[scores.NotGraded] + p.LeftOut.B[scores.NotGraded]
	if notGraded > 0 {
		return err.WithHint("%s: `batch grade` finds verdicts", reasons(p))
	}
	return err.WithHint("%s", reasons(p))
}

// reasons says why instances are left out, by side.
func reasons(p compare.Pair) string {
	var parts []string
	for _, side := range []struct {
		name  string
		count map[scores.Reason]int
	}{{p.A, p.LeftOut.A}, {p.B, p.LeftOut.B}} {
		if words := compare.ReasonWords(side.count); words != "" {
			parts = append(parts, side.name+": "+words)
		}
	}
	if len(parts) == 0 {
		return "both are empty"
	}
	return strings.Join(parts, "; ")
}

// compareOne applies gates to a single entry.
func (a *app) compareOne(f compareFlags, e scores.Side) error {
	if gate, found := compare.OnDifference(f.Gates); found {
		return fault.Newf(fault.Usage, "--gate %q is on a difference, and there is nothing to compare %s with", gate, e.Name).
			WithHint("name another run directory, or write 'resolved >= 60%%' for the rate of one")
	}
	one := compare.NewOne(e, f.Options)
	text := one.Write
	if f.markdown {
		text = one.WriteMarkdown
	}
	return a.showCompared(f.asJSON, one, one.Gates, func() error { return text(a.stdout) })
}
