package rundir

import (
	"log/slog"

	"batch.example/batch/imagecache"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// View shows a job to a person while it works. Its methods are called from many goroutines
// at once.
type View interface {
	Say(text string) // shows a line
	Event(runner.Event)
	Pulled(instance string, p imagecache.Progress)
	Graded(grades.Grade) // called when a grade is durable
	// Progress is called when the first instance is about to start, and again when the last
	// has ended.
	Progress(Progress)
	// Log returns a handler that gets all log records, or nil. They are written to the job's
	// own file in any case.
	Log() slog.Handler
	// Cell returns the view of one cell of a sweep, by its name.
	Cell(name string) View
}

// Progress says how far a job is.
type Progress struct {
	Ended      bool    // the last instance has ended
	Done       int     // instances, or predictions, with a result that counts
	Total      int     // all instances, or predictions, of the job
	Spent      float64 // US dollars, by all jobs in the directory
	Unanswered results.Unanswered
	Outcomes   map[string]int // how many instances have each outcome; set at the end
	Host       error          // of a run: the Host fault that stopped it
}

// PatchProgress returns the progress of work on patches: done of all have a result that counts,
// and the work on the others has ended without one.
func PatchProgress(done, all int) Progress {
	outcomes := map[string]int{}
	for outcome, n := range map[vocab.Outcome]int{vocab.OutcomeSubmitted: done, vocab.OutcomeInfrastructure: all - done} {
		if n > 0 {
			outcomes[string(outcome)] = n
		}
	}
	return Progress{Done: done, Total: all, Outcomes: outcomes}
}

// Silent is a View that shows nothing.
type Silent struct{}

// Say implements View.
func (Silent) Say(string) {}

// Event implements View.
func (Silent) Event(runner.Event) {}

// Pulled implements View.
func (Silent) Pulled(string, imagecache.Progress) {}

// Graded implements View.
func (Silent) Graded(grades.Grade) {}

// Progress implements View.
func (Silent) Progress(Progress) {}

// Log implements View.
func (Silent) Log() slog.Handler { return nil }

// Cell implements View.
func (s Silent) Cell(string) View { return s }
