package grading

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/grade/verifier"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/control"
	"batch.example/batch/run/rundir"
	"batch.example/batch/run/steering"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Request says which predictions of a run directory are graded, and how. Output, Instances
// and Sandboxes are required.
type Request struct {
	Output     string
	Instances  []dataset.Instance   // asked for; only their predictions are graded
	Selected   []string             // for a directory without manifest: ids of its instances, beside Instances
	Import     []results.Prediction // become the directory's predictions; nil: it keeps its own
	About      *manifest.Manifest   // of a directory that has no manifest; nil: none
	Quarantine []byte               // becomes the directory's list; nil: it keeps its own

	Settings
	Redo    bool // also grade predictions that have a verdict
	ByImage bool // instances that share an image are graded near each other

	Sandboxes sandbox.Config // without Lease, Instances, Drain and the fields that a View sets
	Store     results.Options
	Width     *runner.Width
	Retries   runner.Retries
	Tell      func(text string) // called before work begins; nil ignores

	// Control lets other programs watch and change the work, see package control; nil: they cannot.
	Control *control.Begin
}

// Settings has everything that verdicts depend on beside the prediction, the row and the
// image.
type Settings struct {
	Options  family.Options
	Rules    logparse.Rules
	Timeout  time.Duration // of the tests of an instance; 0: the family's, or evaluate.DefaultTimeout
	Assets   string        // folder with ID/test_assets/PATH; empty: assets are downloaded as rows declare
	Repeat   int           // executions of each prediction; fewer than 2 is one
	RunEmpty bool          // run the tests of empty patches too
	RunID    string        // names the log tree, logs/run_evaluation/RunID; empty: the directory's name
	Tasks    verifier.Settings
	Solve    bool   // run the solutions of tasks, instead of predictions
	Network  string // of the tests; empty: the shared bridge if the script installs something, otherwise none

	// Startup returns the command that prepares a container for an instance, as for the
	// agent. An empty command or a nil Startup means none.
	Startup func(dataset.Instance) (string, error)

	AllowCommitMismatch bool // test in images that are not at their row's base_commit

	Cache *Cache // nil: none

	downloading func(ctx context.Context, address string) ([]byte, error) // for tests; nil: from public servers
}

// RunIDOf returns the run id of a directory's log tree.
func (s Settings) RunIDOf(dir string) string {
	if s.RunID != "" {
		return s.RunID
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return cmp.Or(filepath.Base(abs), "batch")
}

// Config returns the configuration of a pool that works in a directory, on a host of boxes.
func (s Settings) Config(dir string, log *grades.Log, host *sandbox.Host, pool runner.Config) Config {
	return Config{Settings: s, Pool: pool, Dir: dir, Grades: log, Boxes: On(host), Container: s.container(host.Config), Basis: s.basisOf(host.Config)}
}

// find returns the task of an instance. The start-up command runs before the task's own
// preparation.
func (s Settings) find(in dataset.Instance) (*family.Task, error) {
	t, err := family.Find(in, s.Options)
	if err != nil {
		return t, err
	}
	prepared := *t
	prepared.AtBase = t.AtBase && !s.AllowCommitMismatch
	if s.Startup == nil {
		return &prepared, nil
	}
	command, err := s.Startup(in)
	if err != nil || command == "" {
		return &prepared, err
	}
	prepared.Setup = command
	if t.Setup != "" {
		prepared.Setup = both(command, t.Setup)
	}
	return &prepared, nil
}

// Check returns why an instance with this row can never be graded; nil: it can be.
func (s Settings) Check(in dataset.Instance) error {
	if in.Task != nil {
		return nil
	}
	_, err := s.find(in)
	return err
}

// both returns a script that runs two scripts, the second one if the first exits with 0.
func both(first, second string) string { return "(" + first + "\n) || exit\n" + second }

// Job returns the job of grading a prediction of an instance. The instance gets the image
// name that its family derives.
func (s Settings) Job(in dataset.Instance, p results.Prediction) Job {
	if in.Task != nil {
		return Job{Instance: in, Prediction: p}
	}
	t, err := s.find(in)
	if err == nil && t.Image != "" && in.ImageDerived() {
		in.Image = t.Image
	}
	return Job{Instance: in, Prediction: p, Task: t, Untestable: err}
}

// Directory is a run directory that this process has locked to grade it.
type Directory struct {
	Request
	read  *results.Reader
	store *results.Store // nil: only a plan is made
	log   *grades.Log
	plan  []Planned
	sum   runner.Summary

	commands *control.Log       // nil: other programs cannot control the work
	by       *steering.Steering // likewise
	halts    *runner.Halts      // likewise
}

// Open locks the directory and makes a plan. The caller must Close the Directory.
func Open(ctx context.Context, r Request) (*Directory, error) {
	d := newDirectory(r)
	_, err := rundir.Open(r.Output, r.Store, func(s *results.Store) error {
		d.read, d.store = s.Reader, s
		return d.prepare(ctx)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// NewPlan returns the plan for each prediction. It refuses the same requests as [Open], but
// takes no lock and writes nothing.
func NewPlan(ctx context.Context, r Request) ([]Planned, error) {
	d := newDirectory(r)
	var err error
	if d.read, err = results.Look(r.Output); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	list, err := grades.Read(r.Output)
	if err != nil {
		return nil, err
	}
	return d.makePlan(ctx, list)
}

// makePlan compares the directory's grades with its predictions.
func (d *Directory) makePlan(ctx context.Context, list []grades.Grade) ([]Planned, error) {
	p := Planner{
		Settings: d.Settings, Instances: d.Instances, Redo: d.Redo, ByImage: d.ByImage,
		Sandboxes: d.Sandboxes, Tell: d.Tell,
	}
	if d.Import != nil {
		return p.plan(ctx, d.Import, list)
	}
	return p.Plan(ctx, d.read, list)
}

// check refuses predictions that cannot be imported or graded.
func (d *Directory) check() error {
	if d.Import == nil {
		return nil
	}
	for _, p := range d.Import {
		if _, err := swebench.ModelDir(p.Model); err != nil {
			return fault.New(fault.Usage, "the prediction of "+p.InstanceID, err)
		}
	}
	if err := d.read.CanImport(d.Import); err != nil {
		return err
	}
	return d.checkManifest()
}

// checkManifest refuses to put predictions into the directory of another dataset or of a
// run.
func (d *Directory) checkManifest() error {
	old, known := d.read.Manifest()
	if !known || d.About == nil {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return fault.Newf(fault.Usage, "%s "+format, append([]any{d.Output}, args...)...).WithHint("choose another directory with -o")
	}
	if !old.OnlyGraded() {
		return refuse("is the directory of a run")
	}
	var refused []string
	for _, difference := range d.About.Differences(old) {
		if difference.Matters && difference.Covers("dataset") {
			refused = append(refused, difference.String())
		}
	}
	if len(refused) > 0 {
		return refuse("was made with different settings:\n  %s", strings.Join(refused, "\n  "))
	}
	return nil
}

// writeManifest writes the manifest of a directory that grading makes, or adds new
// instances to the manifest.
func (d *Directory) writeManifest() error {
	m, made := d.store.Manifest()
	switch {
	case d.About == nil:
		return nil
	case !made:
		return d.store.WriteManifest(d.About)
	}
	both := d.About.Dataset
	both.Add(m.Dataset)
	if both.Count == len(m.Dataset.Instances) {
		return nil
	}
	m.Dataset.Instances, m.Dataset.Count = both.Instances, both.Count
	m.Runs = append(m.Runs, d.About.Runs...)
	return d.store.WriteManifest(m)
}

// newDirectory returns a directory with r's defaults filled in.
func newDirectory(r Request) *Directory {
	if r.Tell == nil {
		r.Tell = func(string) {}
	}
	return &Directory{Request: r}
}

func (d *Directory) prepare(ctx context.Context) (err error) {
	if err := d.check(); err != nil {
		return err
	}
	for _, note := range d.store.Recovered() {
		d.Tell(note)
	}
	if d.log, err = d.store.Grades(); err != nil {
		return err
	}
	for _, note := range d.log.Recovered() {
		d.Tell(note)
	}
	if d.Import != nil {
		if err := d.store.Import(d.Import); err != nil {
			return err
		}
	}
	if err := d.writeManifest(); err != nil {
		return err
	}
	if d.Quarantine != nil {
		if err := d.store.Quarantine(d.Quarantine); err != nil {
			return err
		}
	}
	d.plan, err = d.makePlan(ctx, d.log.All())
	return err
}

// Plan returns the plan for each prediction, in the order of preds.json.
func (d *Directory) Plan() []Planned { return d.plan }

// Todo returns how many predictions are left to grade.
func (d *Directory) Todo() int {
	n := 0
	for _, p := range d.plan {
		if !p.Keep {
			n++
		}
	}
	return n
}

// Work grades the predictions that are left; see [rundir.Job.Work].
func (d *Directory) Work(ctx context.Context, drain <-chan struct{}, show func(vocab.Event)) error {
	if d.Todo() == 0 {
		return nil
	}
	var jobs []Job
	var host *sandbox.Host
	boxes := d.Sandboxes
	boxes.LeaveAttempts = true
	for _, p := range d.plan {
		if !p.Keep {
			jobs = append(jobs, p.Job)
			boxes.Instances = append(boxes.Instances, p.Instance)
		}
	}
	withdrawn, err := Withdraw(d.log, d.Rules, jobs)
	if err == nil && withdrawn { // work may end before its own report
		_, err = d.Report()
	}
	if err != nil {
		return err
	}
	steer, err := d.steer(jobs)
	if err != nil {
		return err
	}
	return rundir.Job{
		Dir: d.Output, Mask: d.Store.Mask, Boxes: boxes, Steer: steer,
		Begin: func(log *slog.Logger, _ rundir.View) error {
			d.store.SetLog(log)
			log.Info("grading started", "predictions", len(d.plan), "todo", len(jobs), "run_id", d.RunIDOf(d.Output), "workers", d.Width.N())
			return nil
		},
		Connect: func(ctx context.Context, c sandbox.Config) (_ rundir.Engine, err error) {
			host, err = sandbox.Start(ctx, c)
			return host, err
		},
		Pool: func(ctx context.Context, pool runner.Config, _ rundir.View) (err error) {
			pool.Width, pool.Retries, pool.Halts = d.Width, d.Retries, d.halts
			if d.by != nil {
				pool.Pause = d.by.Pause()
			}
			d.sum, err = Run(ctx, d.Config(d.Output, d.log, host, pool), runner.NewRoster(jobs))
			return err
		},
		Progress: func() vocab.Event { return rundir.PatchProgress(len(d.plan)-d.Missing(), len(d.plan)) },
	}.Work(ctx, drain, rundir.NewView(show))
}

// Pending returns how many predictions Work left, because it was interrupted.
func (d *Directory) Pending() int { return d.sum.Pending }

// Cost returns 0: grading calls no model.
func (d *Directory) Cost() float64 { return 0 }

// Summary says how the predictions that Work graded ended.
func (d *Directory) Summary() runner.Summary { return d.sum }

// Grades returns the predictions, and for each the grade that counts; without one, its
// verdict is empty.
func (d *Directory) Grades() ([]results.Prediction, []grades.Grade) {
	latest := grades.Latest(d.log.All())
	var predictions []results.Prediction
	var list []grades.Grade
	for _, p := range d.plan {
		predictions = append(predictions, p.Prediction)
		list = append(list, latest[KeyOf(p.Prediction)])
	}
	return predictions, list
}

// Missing returns how many predictions are left to grade, because Work gave them no verdict
// that counts. An earlier verdict may stand.
func (d *Directory) Missing() int { return d.Todo() - d.sum.Final }

// Whole returns the predictions of all instances of the directory, in the order of
// preds.json, and for each the grade that counts. It includes predictions that this
// Directory was not asked to grade.
func (d *Directory) Whole() ([]results.Prediction, []grades.Grade, error) {
	_, predictions, err := d.whole()
	if err != nil {
		return nil, nil, err
	}
	latest := grades.Latest(d.log.All())
	list := make([]grades.Grade, len(predictions))
	for i, p := range predictions {
		list[i] = latest[KeyOf(p)]
	}
	return predictions, list, nil
}

// Report writes the harness's final report about all instances of the directory, and
// returns its path.
func (d *Directory) Report() (string, error) {
	asked, _, err := d.whole()
	if err != nil {
		return "", err
	}
	return Final(d.store, d.RunIDOf(d.Output), d.Rules, asked)
}

// whole returns the ids of all instances of the directory, and their predictions. The
// manifest's selected instances belong to the directory, or without a manifest Selected. Every
// instance with a prediction also belongs to it, unless the directory has only imported
// predictions.
func (d *Directory) whole() (asked []string, predictions []results.Prediction, err error) {
	if predictions, err = d.store.Predictions(nil); err != nil {
		return nil, nil, err
	}
	m, known := d.store.Manifest()
	if known {
		asked = slices.Clone(m.Dataset.Instances)
	} else {
		asked = slices.Clone(d.Selected)
	}
	if !known || !m.OnlyGraded() {
		for _, p := range predictions {
			asked = append(asked, p.InstanceID)
		}
	}
	slices.Sort(asked)
	asked = slices.Compact(asked)
	return asked, slices.DeleteFunc(predictions, func(p results.Prediction) bool {
		_, found := slices.BinarySearch(asked, p.InstanceID)
		return !found
	}), nil
}

// Close completes the files of the directory and unlocks it. It may be called twice.
func (d *Directory) Close() error { return d.store.Close() }
