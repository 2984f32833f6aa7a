package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"batch.example/batch/agent/config"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/report"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run"
	"batch.example/batch/run/control"
	"batch.example/batch/run/grading"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// gradeSession is one `batch grade` with containers, after its flags are read.
type gradeSession struct {
	*app
	flags    gradeFlags
	what     gradeTarget
	cfg      *config.Config
	ds       *dataset.Dataset
	selected []dataset.Instance
	flagged  []dataset.Instance // what the flags select, without arguments
	started  time.Time
}

// gradeContainers grades predictions that have to be tested.
func (a *app) gradeContainers(ctx context.Context, f gradeFlags) error {
	if f.goldCheck && f.apart.asked {
		return fault.Newf(fault.Usage, "--check takes no --detach")
	}
	if apart, err := a.detached(f.apart, f.dryRun, f.InstancesFile); apart || err != nil {
		return err
	}
	s := &gradeSession{app: a, flags: f, started: time.Now()}
	if err := s.open(ctx); err != nil {
		return err
	}
	if f.goldCheck {
		return s.checkMachine(ctx)
	}
	list, err := s.predictions()
	if err != nil {
		return err
	}
	r, err := s.request(s.flags.Output, list)
	if err != nil {
		return err
	}
	if f.dryRun {
		return s.dryRun(ctx, r)
	}
	_, err = s.grade(ctx, r)
	return err
}

// open finds the predictions, and reads the configuration and the dataset.
func (s *gradeSession) open(ctx context.Context) (err error) {
	if s.what, err = s.flags.target(); err != nil {
		return err
	}
	if s.what.dir == "" {
		if err := run.RefuseSweep(s.flags.Output); err != nil {
			return err
		}
	}
	if err := s.flags.absolute(); err != nil {
		return err
	}
	if err := s.configure(s.what.dir); err != nil {
		return err
	}
	if err := s.read(ctx); err != nil {
		return err
	}
	if s.selected, err = run.Narrow(s.ds, s.flagged, s.flags.Named); err != nil {
		return err
	}
	if s.flags.Workers == 0 {
		s.flags.Workers, err = s.cores(ctx, s.cfg)
	}
	return err
}

// cores returns how many CPU cores the engine of a configuration has.
func (a *app) cores(ctx context.Context, cfg *config.Config) (int, error) {
	list, err := a.process().Engines(cfg)
	if err != nil {
		return 0, err
	}
	return sandbox.Cores(sandbox.MeasureAll(ctx, list, a.process().Cores())), nil
}

// configure reads the configuration and the dataset's name. Without flags, the run in dir has
// them; dir may be empty.
func (s *gradeSession) configure(dir string) (err error) {
	if dir != "" {
		if err := s.flags.fromManifest(dir, s.process()); err != nil {
			return err
		}
	}
	load := func(r run.Request) (*config.Config, error) { return s.process().LoadConfig(r) }
	if dir != "" && !s.flags.given("config") {
		load = s.process().LoadTested
	}
	if s.cfg, err = load(s.flags.Request); err != nil {
		return err
	}
	s.flags.tests.Options.Workdir = s.cfg.Environment.Cwd
	return s.process().HideAndWarn(s.cfg, s.flags.MaskPatterns)
}

// read reads the dataset.
func (s *gradeSession) read(ctx context.Context) (err error) {
	r := s.flags.Request
	r.Named = nil
	if s.ds, s.flagged, err = s.load(ctx, r); err != nil {
		return err
	}
	if s.flags.digest != "" && s.ds.Digest != s.flags.digest {
		return fault.Newf(fault.Usage, "%s has changed since the run was made: its digest is %.12s, was %.12s", run.Title(s.ds), s.ds.Digest, s.flags.digest).
			WithHint("name the dataset that the predictions are for with --subset")
	}
	return nil
}

// predictions returns the predictions to put into the directory; nil: it has its own.
func (s *gradeSession) predictions() ([]results.Prediction, error) {
	switch {
	case s.what.dir != "":
		return nil, s.checkKnown()
	case s.what.word != "":
		return s.made(s.what.word), nil
	}
	read, err := swebench.ReadPredictions(s.what.file)
	if err != nil {
		return nil, err
	}
	for _, p := range read.List {
		if _, err := swebench.ModelDir(p.Model); err != nil {
			return nil, swebench.PredictionsFault(read.Name, p.Where, err)
		}
	}
	if err := s.check(read); err != nil {
		return nil, err
	}
	s.tellNotes(read)
	list := make([]results.Prediction, len(read.List))
	for i, p := range read.List {
		list[i] = results.Prediction{InstanceID: p.InstanceID, Model: p.Model, Said: p.Said, Patch: []byte(p.Patch)}.WithText()
	}
	selected := map[string]bool{}
	for _, in := range s.selected {
		selected[in.ID] = true
	}
	if !slices.ContainsFunc(list, func(p results.Prediction) bool { return selected[p.InstanceID] }) {
		return nil, noneSelected(read.Name)
	}
	return list, nil
}

// noneSelected is the error if no prediction would be graded.
func noneSelected(where string) *fault.Error {
	return fault.Newf(fault.Usage, "%s has no prediction of the selected instances", where)
}

// tellNotes shows the notes about a file of predictions.
func (s *gradeSession) tellNotes(read swebench.Predictions) {
	const most = 5
	for _, note := range read.Notes[:min(most, len(read.Notes))] {
		s.tell(read.Name + ": " + note)
	}
	if more := len(read.Notes) - most; more > 0 {
		s.tell(fmt.Sprintf("%s: and %s like these", read.Name, printable.Count(more, "entry", "entries")))
	}
}

// made returns the predictions that a word stands for.
func (s *gradeSession) made(word string) []results.Prediction {
	list := []results.Prediction{}
	for _, in := range s.selected {
		p := results.Prediction{InstanceID: in.ID, Model: word}
		if word == wordGold && in.Task != nil && !in.Task.Solvable {
			continue
		}
		if word == wordGold {
			p.Patch = []byte(in.Patch)
			if t, err := family.Find(in, s.flags.tests.Options); err == nil && t.Gold != nil {
				p.Patch = t.Gold
			}
		}
		list = append(list, p.WithText())
	}
	return list
}

// checkKnown refuses a directory with predictions of another dataset.
func (s *gradeSession) checkKnown() error {
	snap, err := results.Read(s.what.dir)
	if err != nil {
		return err
	}
	has := swebench.Predictions{Name: s.what.dir}
	for _, id := range slices.Sorted(maps.Keys(snap.Patches)) {
		has.List = append(has.List, swebench.Prediction{InstanceID: id})
	}
	return s.check(has)
}

// request returns the request to grade the predictions in list, or in output.
func (s *gradeSession) request(output string, list []results.Prediction) (r grading.Request, err error) {
	f := &s.flags
	retries, err := runner.ParseRetries(f.Retry)
	if err != nil {
		return r, err
	}
	sandboxes, err := s.process().Sandboxes(s.cfg, f.Request)
	if err != nil {
		return r, err
	}
	if err := s.process().ForTasks(&sandboxes, s.cfg, f.Request, s.selected); err != nil {
		return r, err
	}
	r = f.tests
	r.Tasks, r.Solve = s.process().TaskSettings(f.Request), s.what.word == wordGold
	r.Output, r.Instances, r.Import, r.ByImage = output, s.selected, list, f.Order != manifest.OrderGiven
	r.Sandboxes, r.Store = sandboxes, results.Options{Mask: s.mask}
	r.Width, r.Retries, r.Tell, r.Control = runner.NewWidth(f.Workers), retries, s.tell, &control.Begin{}
	r.RunEmpty, r.Startup = f.goldCheck || s.what.word == wordEmpty, run.Startup(s.cfg)
	r.AllowCommitMismatch = s.cfg.Environment.AllowCommitMismatch
	network := s.cfg.Environment.Flags().Network
	if asked := s.cfg.Given("environment.network") || network != "none"; f.given("network") || s.what.dir == "" && asked { // the run's own is the agents'
		r.Network = network
	}
	// A check is of the machine as it is now, and mounted files may change.
	if !f.noCache && !f.goldCheck && !r.Options.Unfilled && len(sandboxes.Container.Mounts) == 0 {
		r.Cache = s.process().GradeCache()
	}
	for _, in := range s.flagged {
		r.Selected = append(r.Selected, in.ID)
	}
	if list != nil {
		r.About = s.about()
	}
	r.Quarantine, _, err = f.quarantined(s.ds)
	return r, err
}

// about is the manifest of a directory that grading makes.
func (s *gradeSession) about() *manifest.Manifest {
	m := s.manifest("grade")
	for _, in := range s.selected {
		m.Dataset.Instances = append(m.Dataset.Instances, in.ID)
	}
	m.Dataset.Count = len(s.selected)
	return m
}

// manifest is the manifest of a directory that a command makes of other predictions.
func (s *gradeSession) manifest(command string) *manifest.Manifest {
	dir, _ := os.Getwd() // without it, relative paths are only right from here
	now, argv := s.started.UTC(), config.MaskSpecs(s.args)
	m := &manifest.Manifest{
		Batch: run.Version(), Command: command, Argv: argv, Dir: dir, Created: now, Runs: []manifest.Run{{Started: now, Argv: argv}},
	}
	if s.ds != nil {
		m.Dataset = manifest.Dataset{Name: s.ds.Name, Split: s.ds.Split, Revision: s.ds.Revision, Digest: s.ds.Digest}
	}
	return m
}

// grade grades a directory and prints how it ended.
func (s *gradeSession) grade(ctx context.Context, r grading.Request) (d *grading.Directory, err error) {
	d, err = grading.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := d.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
	}()
	switch {
	case len(d.Plan()) == 0:
		return d, noneSelected(r.Output).WithHint("`batch status %s` lists what it has", printable.ShellWord(r.Output))
	case d.Todo() == 0:
		s.tell(fmt.Sprintf("nothing to do: %s; to grade again: the same command with `--redo`",
			printable.Count(judged(d.Plan()), "prediction has a verdict", "predictions have a verdict")))
	default:
		err = s.session(d).work(ctx, d)
	}
	kind := fault.KindOf(err)
	if (kind == fault.Host || kind == fault.Usage) && d.Summary().Final == 0 && d.Summary().Failed == 0 {
		return d, err // nothing was graded
	}
	return d, s.conclude(d, err)
}

// judged counts the predictions that grading gives a verdict.
func judged(plan []grading.Planned) (n int) {
	for _, p := range plan {
		if !p.Prediction.Excused {
			n++
		}
	}
	return n
}

// session returns how a directory is worked on.
func (s *gradeSession) session(d *grading.Directory) session {
	predictions, _ := d.Grades()
	return session{
		app: s.app, started: s.started, json: s.flags.json, quiet: s.flags.quiet,
		about: vocab.Event{
			Directory: d.Output, Model: cmp.Or(predictions[0].Model, "None"), Dataset: s.ds.Name,
			Workers: s.flags.Workers, Total: len(predictions), Grading: true,
		},
		saving: "ending running tests and removing their containers", again: "the same command", apart: s.flags.apart,
	}
}

// conclude writes the reports, prints the table and chooses how the command ends.
func (s *gradeSession) conclude(d *grading.Directory, ended error) error {
	path, failed := d.Report()
	return s.session(d).conclude(d, s.also(ended, failed), func(out io.Writer) (int, error) {
		if failed != nil {
			return 0, nil
		}
		return d.Missing(), s.writeTable(out, d, path)
	})
}

// writeTable prints the state of the directory.
func (s *gradeSession) writeTable(out io.Writer, d *grading.Directory, path string) error {
	snap, err := results.Read(d.Output)
	if err != nil {
		return err
	}
	whole, list, err := d.Whole()
	if err != nil {
		return err
	}
	ids := make([]string, len(whole))
	for i, p := range whole {
		ids[i] = p.InstanceID
	}
	if err := report.WriteGrades(out, ids, snap.Records); err != nil {
		return err
	}
	touched, own := d.Grades()
	if len(touched) < len(whole) {
		ids = ids[:0]
		for _, p := range touched {
			ids = append(ids, p.InstanceID)
		}
		fmt.Fprintf(out, "this command was for %d of these %d predictions: %s\n", len(touched), len(whole), some(ids))
	}
	cached := 0
	for _, g := range own {
		if g.Cached {
			cached++
		}
	}
	if cached > 0 {
		fmt.Fprintf(out, "%s judged from the cached log of the same test run\n", printable.Count(cached, "was", "were"))
	}
	s.writeUngraded(out, list)
	_, err = fmt.Fprintf(out, "\nreport  %s\n", path)
	logs := filepath.Join(d.Output, filepath.FromSlash(swebench.LogRoot), d.RunIDOf(d.Output))
	if _, missing := os.Stat(logs); missing != nil { // no tests ran
		return err
	}
	_, err = fmt.Fprintf(out, "logs    %s\n", logs)
	return err
}

// writeUngraded names the predictions that were tried and have no verdict that counts.
func (s *gradeSession) writeUngraded(out io.Writer, list []grades.Grade) {
	head := "\nwithout a verdict:\n"
	for _, g := range list {
		if g.Verdict != "" && !g.Verdict.Counts() {
			fmt.Fprintf(out, "%s  %s  %s\n    %s\n", head, g.InstanceID, g.Verdict, printable.Line(cmp.Or(g.Error, g.Why)))
			head = ""
		}
	}
}

// dryRun prints what would be graded.
func (s *gradeSession) dryRun(ctx context.Context, r grading.Request) error {
	plan, err := grading.NewPlan(ctx, r)
	if err != nil {
		return err
	}
	if len(plan) == 0 {
		return noneSelected(r.Output)
	}
	var t printable.Table
	t.Row("INSTANCE", "ACTION", "WHY", "IMAGE")
	todo := 0
	var refused error
	for _, p := range plan {
		action, why := "keep", p.Why
		if !p.Keep {
			action, todo = "grade", todo+1
		}
		if err := p.Untestable; err != nil {
			why, refused = cmp.Or(why, string(vocab.VerdictUngradeable)+": "+err.Error()), cmp.Or(refused, err)
		}
		t.Row(p.Instance.ID, action, oneLine(why), p.Instance.ImageName(s.flags.ImagePrefix))
	}
	if err := t.Write(s.stdout); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.stdout, "\nwould grade %d of %s\n  dataset  %s\n  workers  %d\n  output   %s\n",
		todo, printable.Count(len(plan), "prediction", "predictions"), run.Title(s.ds), s.flags.Workers, r.Output)
	if err != nil {
		return err
	}
	if refused != nil {
		fmt.Fprintf(s.stdout, "\nwithout a verdict, as the row is:\n  %s\n", strings.ReplaceAll(strings.TrimSpace(refused.Error()+"\n"+fault.HintOf(refused)), "\n", "\n  "))
	}
	return s.dryQuarantine(r, plan)
}

// dryQuarantine names the predictions that would count in no rate.
func (s *gradeSession) dryQuarantine(r grading.Request, plan []grading.Planned) error {
	ids, err := grades.Quarantined(r.Output)
	if r.Quarantine != nil {
		ids, err = grades.ParseQuarantine(s.flags.quarantine, string(r.Quarantine))
	}
	if err != nil {
		return err
	}
	var left []string
	for _, p := range plan {
		if slices.Contains(ids, p.Instance.ID) {
			left = append(left, p.Instance.ID)
		}
	}
	if len(left) == 0 {
		return nil
	}
	_, err = fmt.Fprintf(s.stdout, "  quarantined, in no rate: %s\n", some(left))
	return err
}
