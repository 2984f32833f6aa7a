package regrade

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Judge grades the log of an instance. patch is the tested patch, which shows what is suspicious;
// nil if it was not saved. The error is a *fault.Error; the prediction then has no verdict.
type Judge func(ctx context.Context, in dataset.Instance, patch []byte, l grade.Log) (grade.Judgement, error)

// Config says what to grade.
type Config struct {
	Tree string // the folder with logs
	Out  string // the reports' folder
	// Dataset has all instances that folders can be named after. Selected has the instances to
	// grade; they count as incomplete without a log.
	Dataset, Selected []dataset.Instance
	// RunID replaces the run ids of the tree. If both are empty, DefaultRunID is used.
	RunID       string
	Rules       logparse.Rules
	Judge       Judge
	Quarantined []string // ids that are graded but do not count
}

// DefaultRunID is the run id of logs without one.
const DefaultRunID = "regrade"

// Graded is the outcome of one prediction.
type Graded struct {
	InstanceID string
	Verdict    vocab.Verdict
	Why        string // one line, empty if it is resolved
	Doubt      string // as in [grade.Judgement]
	Suspicious []string
	entry      swebench.Entry
}

// Report is the outcome of one model's run.
type Report struct {
	Model, RunID string
	Path         string   // of the final report
	Graded       []Graded // sorted by id; without those in quarantine
	Missing      []string // ids without a log, in the dataset's order
	Quarantined  []string // ids of the selection that do not count
}

// Run grades every log below c.Tree and writes the reports below c.Out: report.json of each
// instance in [swebench.LogDir], and the final report of each model's run. The logs are not moved.
// Files are replaced atomically, so that an interrupted Run leaves each file either old or new. The
// same input gives the same files.
//
// An error is a *fault.Error: of kind Usage for a tree without logs of the dataset or a c.Out that
// cannot be a folder, Host for a failed read or write. unknown has the names of folders with logs
// that are not ids.
func Run(ctx context.Context, c Config) (reports []Report, unknown []string, err error) {
	found, err := c.find()
	if err != nil {
		return nil, nil, err
	}
	if err := results.MakeDir(c.Out); err != nil {
		return nil, nil, err
	}
	for _, folders := range runs(found.Folders) {
		r, err := c.run(ctx, folders)
		if err != nil {
			return nil, nil, err
		}
		reports = append(reports, r)
	}
	return reports, found.Unknown, nil
}

// run grades the folders of one model's run.
func (c Config) run(ctx context.Context, folders []swebench.Folder) (Report, error) {
	r := Report{Model: folders[0].Model, RunID: folders[0].Run}
	byID := map[string]swebench.Folder{}
	for _, f := range folders {
		byID[f.InstanceID] = f
	}
	var work []task
	final := swebench.Final{Model: r.Model, RunID: r.RunID, V4: c.Rules == logparse.V4, Quarantined: c.Quarantined}
	for _, in := range c.Selected {
		f, logged := byID[in.ID]
		counts := !slices.Contains(c.Quarantined, in.ID)
		final.Instances = append(final.Instances, in.ID)
		switch {
		case logged:
			work = append(work, task{in, f, counts})
		case counts:
			r.Missing = append(r.Missing, in.ID)
		}
		if !counts {
			r.Quarantined = append(r.Quarantined, in.ID)
		}
	}
	graded, err := c.all(ctx, work)
	if err != nil {
		return r, err
	}
	for i, g := range graded {
		switch {
		case !g.present && work[i].counts:
			r.Missing = append(r.Missing, g.InstanceID)
		case g.present && work[i].counts:
			r.Graded = append(r.Graded, g.Graded)
			final.Predictions = append(final.Predictions, g.entry)
		}
	}
	slices.SortFunc(r.Graded, func(a, b Graded) int { return strings.Compare(a.InstanceID, b.InstanceID) })
	r.Path, err = swebench.WriteFinal(c.Out, final)
	return r, err
}

// all grades in parallel, one log per core.
func (c Config) all(ctx context.Context, work []task) ([]outcome, error) {
	graded := make([]outcome, len(work))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range work {
		group.Go(func() (err error) {
			if err := ctx.Err(); err != nil {
				return err
			}
			graded[i], err = c.one(ctx, t)
			return err
		})
	}
	return graded, group.Wait()
}

// find lists the folders of instances in the tree, with the run ids for the reports.
func (c Config) find() (swebench.Found, error) {
	ids := map[string]bool{}
	for _, in := range c.Dataset {
		ids[in.ID] = true
	}
	found, err := swebench.Find(c.Tree, func(name string) bool { return ids[name] })
	if err != nil {
		return found, err
	}
	if len(found.Folders) == 0 {
		return found, c.nothing(found.Unknown)
	}
	paths := map[swebench.Folder]string{}
	for i := range found.Folders {
		f := &found.Folders[i]
		if c.RunID != "" || f.Run == "" {
			f.Run = cmp.Or(c.RunID, DefaultRunID)
		}
		key := swebench.Folder{Run: f.Run, Model: f.Model, InstanceID: f.InstanceID}
		if other := paths[key]; other != "" {
			return found, fault.Newf(fault.Usage, "two folders for %s of %s: %s and %s", f.InstanceID, f.Model, other, f.Path).
				WithHint("give the tree of one of the runs, or leave out --run-id")
		}
		paths[key] = f.Path
	}
	return found, sameReport(found.Folders)
}

// sameReport refuses two runs that would write the same final report: model "a" in run "b.c" and
// model "a.b" in run "c".
func sameReport(folders []swebench.Folder) error {
	first := map[string]swebench.Folder{}
	for _, f := range folders {
		name, err := swebench.Final{Model: f.Model, RunID: f.Run}.Name()
		if err != nil {
			return err
		}
		other, known := first[name]
		if known && (other.Model != f.Model || other.Run != f.Run) {
			return fault.Newf(fault.Usage, "%s and %s would have the same report %s", filepath.Dir(other.Path), filepath.Dir(f.Path), name).
				WithHint("grade each by itself, as --from-logs of its own folder")
		}
		first[name] = f
	}
	return nil
}

// nothing returns the fault for a tree without a folder of an instance.
func (c Config) nothing(unknown []string) error {
	if len(unknown) == 0 {
		return fault.Newf(fault.Usage, "no log of an instance in %s", c.Tree).
			WithHint("a tree of logs has folders such as <run>/<model>/<instance_id> with a %s", swebench.OutputName)
	}
	ids := make([]string, len(c.Dataset))
	for i, in := range c.Dataset {
		ids[i] = in.ID
	}
	err := fault.Newf(fault.Usage, "no log in %s is of an instance of the dataset: %s, first %s",
		c.Tree, printable.Count(len(unknown), "folder has logs", "folders have logs"), printable.Line(unknown[0]))
	return err.WithHint("%s", near.Hint(near.Name(unknown[0], ids), fmt.Sprintf("the dataset's first id is %s: name the logs' dataset with --subset", ids[0])))
}

// runs groups the folders by run and model, in their order.
func runs(folders []swebench.Folder) [][]swebench.Folder {
	type key struct{ run, model string }
	var order []key
	groups := map[key][]swebench.Folder{}
	for _, f := range folders {
		k := key{f.Run, f.Model}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], f)
	}
	list := make([][]swebench.Folder, len(order))
	for i, k := range order {
		list[i] = groups[k]
	}
	return list
}

// task is one log to grade.
type task struct {
	in     dataset.Instance
	folder swebench.Folder
	counts bool
}

// outcome is the result of one task. present is false if the folder has no traces of an evaluation.
type outcome struct {
	Graded
	present  bool
	reported bool // it has a report.json
}

// one grades a folder and writes its report, or removes an earlier report.
func (c Config) one(ctx context.Context, t task) (outcome, error) {
	o, err := c.grade(ctx, t)
	if err != nil || o.reported {
		return o, err
	}
	dir, err := swebench.LogDir(c.Out, t.folder.Run, t.folder.Model, t.in.ID)
	if err != nil {
		return o, err
	}
	if err := os.Remove(filepath.Join(dir, swebench.ReportName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return o, fault.New(fault.Host, "removing a report that does not hold any more", err)
	}
	return o, nil
}

func (c Config) grade(ctx context.Context, t task) (outcome, error) {
	files, err := swebench.ReadFiles(t.folder.Path)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{Graded: Graded{InstanceID: t.in.ID}, present: true}
	switch {
	case files.Patch != nil && len(files.Patch) == 0 && files.Output == nil:
		o.Verdict, o.Why = vocab.VerdictEmpty, "the patch is empty"
	case files.Output != nil:
		err = c.judge(ctx, t, files, &o)
	case files.RunLog != nil:
		o.Verdict, o.Why = stopped(files.RunLog)
	default:
		o.present = false
		return o, nil
	}
	var failure swebench.Failure
	if o.Verdict != vocab.VerdictResolved {
		failure = grade.Classify(logs(files))
	}
	o.entry = swebench.EntryOf(t.in.ID, o.Verdict, failure, o.Doubt)
	return o, err
}

// judge grades test_output.txt and writes report.json.
func (c Config) judge(ctx context.Context, t task, files swebench.Files, o *outcome) error {
	j, err := c.Judge(ctx, t.in, files.Patch, grade.LogOf(files))
	if err := ctx.Err(); err != nil {
		return err
	}
	if err != nil {
		var f *fault.Error
		if errors.As(err, &f) && f.Kind == fault.Usage { // such as a parser that does not exist
			return err
		}
		o.Verdict, o.Why = vocab.VerdictUngradeable, err.Error()
		if hint := fault.HintOf(err); hint != "" {
			o.Why += " (" + strings.Join(strings.Fields(hint), " ") + ")"
		}
		return nil
	}
	o.Verdict, o.Why, o.Doubt, o.Suspicious = j.Verdict, j.Why, j.Doubt, j.Suspicious
	o.reported = true
	report, err := j.Report(t.in.ID, c.Rules).JSON()
	if err != nil {
		return fault.New(fault.Bug, "writing report.json", err)
	}
	dir, err := swebench.LogDir(c.Out, t.folder.Run, t.folder.Model, t.in.ID)
	if err != nil {
		return err
	}
	return swebench.Files{Report: report}.Write(dir)
}

// stopped returns the verdict of an evaluation that ended before the tests.
func stopped(runLog []byte) (vocab.Verdict, string) {
	if bytes.Contains(runLog, []byte(swebench.ApplyFailed)) {
		return vocab.VerdictNoApply, "the patch does not apply"
	}
	return vocab.VerdictInfrastructure, "the evaluation ended before the tests, see " + swebench.RunLogName
}

// logs joins the logs in which the harness looks for the reason of a failure.
func logs(f swebench.Files) string {
	var list []string
	for _, log := range [][]byte{f.Output, f.RunLog} {
		if log != nil {
			list = append(list, grade.Decode(log))
		}
	}
	return strings.Join(list, "\n")
}
