package regrade

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/dataset"
	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/results"
	"batch.example/batch/swebench"
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
