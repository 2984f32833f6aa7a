package grading

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// Config says how predictions are graded. Dir, Grades and Boxes are required.
type Config struct {
	Settings
	Dir    string      // the run directory, which the caller owns
	Grades *grades.Log // of Dir

	Boxes     Boxes
	Container string // all settings of the containers that a log may depend on except their network, for the cache

	Basis func(dataset.Instance, *family.Task) grades.Basis // basis of a verdict, for its record; nil: it is not recorded

	Pool runner.Config // of the predictions, which cost nothing

	// Stands reports whether a prediction is still its instance's current one: the log tree
	// has only current predictions. Nil: all are current.
	Stands func(results.Prediction) bool

	// Graded is called with each grade that was recorded, after it is durable. It is called
	// from many goroutines at once; nil ignores.
	Graded func(grades.Grade)
}

// Run grades the jobs of a roster until all have ended, or until Drain is closed and the
// running ones have ended. Canceling ctx also stops the running ones; they then have no
// grade. In the Summary, a job with a verdict that counts is final, any other graded job
// failed. The error is a Host fault.
func Run(ctx context.Context, c Config, jobs *runner.Roster[Job]) (runner.Summary, error) {
	if c.Pool.Log == nil {
		c.Pool.Log = slog.New(slog.DiscardHandler)
	}
	if c.Stands == nil {
		c.Stands = func(results.Prediction) bool { return true }
	}
	if c.Graded == nil {
		c.Graded = func(grades.Grade) {}
	}
	sum, err := runner.Run(ctx, c.Pool, jobs, &worker{Config: c})
	if err := c.Cache.Trim(); err != nil {
		c.Pool.Log.Warn("removing old entries of the grade cache", "err", err)
	}
	return sum, err
}

// Job is one prediction to grade. [Settings.Job] makes it.
type Job struct {
	Instance   dataset.Instance
	Prediction results.Prediction
	Task       *family.Task // how the instance is tested, if nothing makes it untestable
	Untestable error        // why there is no Task
	Stale      string       // why an earlier verdict does not hold any more, see [Withdraw]; empty: none is known
	Since      time.Time    // when it could be graded; zero: since the pool began
}

// worker implements runner.Worker.
type worker struct{ Config }

// Name implements runner.Worker.
func (w *worker) Name(j Job) string { return j.Instance.ID }

// Do implements runner.Worker. The result has the executions with a verdict. After an
// error, the last one is the failed execution, as far as it got.
func (w *worker) Do(ctx context.Context, a runner.Attempt[Job]) ([]*execution, error) {
	n := max(1, w.Repeat)
	var done []*execution
	for i := 1; i <= n; i++ {
		x := w.newExecution(a)
		if n > 1 {
			x.grade.Repeat = i
		}
		done = append(done, x)
		err := x.run(ctx)
		if err == nil && n > 1 {
			err = x.keepRepeat(done)
		}
		x.grade.Time.Total = time.Since(x.grade.Started).Seconds()
		if err != nil {
			return done, err
		}
		if x.final { // further executions would be the same
			break
		}
	}
	return done, nil
}

func (w *worker) newExecution(a runner.Attempt[Job]) *execution {
	x := &execution{worker: w, job: a.Job}
	x.report = func(phase string) {
		a.Report(vocab.Event{Type: vocab.EventPhase, Phase: phase, Engine: x.grade.Engine})
	}
	x.grade = newGrade(a.Job, w.Rules)
	x.grade.Time.Queue = a.Queued.Seconds()
	if since := time.Since(a.Job.Since); a.Number == 1 && since < a.Queued {
		x.grade.Time.Queue = since.Seconds()
	}
	return x
}

// newGrade returns a grade of a job, without a verdict.
func newGrade(j Job, rules logparse.Rules) grades.Grade {
	p := j.Prediction
	return grades.Grade{
		InstanceID: j.Instance.ID, Attempt: p.Attempt, Model: p.Model, Patch: grades.PatchDigest(p.Text),
		Rules: rules.String(), Started: time.Now().UTC(),
	}
}

// Save implements runner.Worker: it writes the files of the log tree, then the grades. An
// interrupted job leaves no grade.
func (w *worker) Save(_ context.Context, j Job, done []*execution, err error) (runner.Ending, error) {
	end := runner.EndingOf(err)
	if end.Outcome == vocab.OutcomePending {
		return end, nil
	}
	if len(done) == 0 { // it panicked
		done = []*execution{w.newExecution(runner.Attempt[Job]{Job: j, Number: 1, Report: func(vocab.Event) {}})}
	}
	last := done[len(done)-1]
	if err != nil {
		last.failed(end)
	}
	if lost := w.write(j, done); lost != nil {
		return runner.Ending{Status: fault.KindOf(lost).Status(), Blame: fault.KindOf(lost).String(), Outcome: vocab.OutcomeInfrastructure, Error: lost.Error()}, lost
	}
	g := countsOf(done)
	if err != nil {
		return end, nil
	}
	end = runner.Ending{Result: string(g.Verdict), Outcome: vocab.OutcomeInfrastructure, Error: cmp.Or(g.Error, g.Why)}
	if g.Verdict.Counts() {
		end.Outcome = vocab.OutcomeSubmitted
	}
	if w.Options.Unfilled && g.Verdict == vocab.VerdictUnresolved { // which a row without tests always is
		end.Result, end.Error = "tested", ""
	}
	return end, nil
}

// failed records in x a failure that is not the prediction's fault.
func (x *execution) failed(end runner.Ending) {
	x.evidence, x.judgement = nil, nil
	x.grade.Verdict, x.grade.Error, x.grade.Blame, x.grade.Why = vocab.VerdictInfrastructure, end.Error, end.Blame, ""
}

// write is durable when it returns nil.
func (w *worker) write(j Job, done []*execution) error {
	if w.Stands(j.Prediction) {
		if err := w.writeFiles(j, done); err != nil {
			return err
		}
	}
	for _, x := range done {
		if err := w.Grades.Add(x.grade); err != nil {
			return err
		}
	}
	w.Graded(countsOf(done))
	return nil
}

// countsOf returns the grade that counts among the executions of one attempt.
func countsOf(done []*execution) grades.Grade {
	list := make([]grades.Grade, len(done))
	for i, x := range done {
		list[i] = x.grade
	}
	return grades.Latest(list)[list[0].Prediction()]
}

// ungradeable reports whether an error of looking for a row's tests, or of judging them,
// concerns this row alone.
func ungradeable(err error) bool {
	kind := fault.KindOf(err)
	return err != nil && !fault.Canceled(err) && (kind == fault.Instance || kind == fault.Usage || kind == fault.Unknown)
}

// reason returns an error's text for a grade.
func reason(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}
