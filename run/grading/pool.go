package grading

import (
	"context"
	"log/slog"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/runner"
)

// Config says how predictions are graded. Dir, RunID, Grades and Boxes are required.
type Config struct {
	Dir    string      // the run directory, which the caller owns
	RunID  string      // names the log tree: Dir/logs/run_evaluation/RunID
	Grades *grades.Log // of Dir

	Boxes     Boxes
	Network   string // of the tests; see Settings
	Container string // all other settings of the containers that a log may depend on, for the cache
	Cache     *Cache // nil: none

	Basis    func(dataset.Instance, *family.Task) grades.Basis // basis of a verdict, for its record; nil: it is not recorded
	Rules    logparse.Rules
	Assets   string        // folder with ID/test_assets/PATH; empty: assets are downloaded as rows declare
	Timeout  time.Duration // of the tests of an instance; 0: the family's, or evaluate.DefaultTimeout
	Repeat   int           // executions of each prediction; fewer than 2 is one
	RunEmpty bool          // run the tests of empty patches too

	Pool runner.Config // of the predictions, which cost nothing

	// Stands reports whether a prediction is still its instance's current one: the log tree
	// has only current predictions. Nil: all are current.
	Stands func(results.Prediction) bool

	// Graded is called with each grade that was recorded, after it is durable. It is called
	// from many goroutines at once; nil ignores.
	Graded func(grades.Grade)
}

// Run grades the jobs of a source until all have ended, or until Drain is closed and the
// running ones have ended. Canceling ctx also stops the running ones; they then have no
// grade. In the Summary, a job with a verdict that counts is final, any other graded job
// failed. The error is a Host fault.
func Run(ctx context.Context, c Config, jobs runner.Source[Job]) (runner.Summary, error) {
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
