package runner

import (
	"context"

	"batch.example/batch/dataset"
	"batch.example/batch/results"
)

// Solver makes one attempt at one instance. It must release everything it
// took before it returns, also when ctx is cancelled. An error is a fault with
// blame or a cancellation; the Result is then what is known so far, or nil.
// Solve is called from many goroutines at once.
type Solver interface {
	Solve(ctx context.Context, a Attempt) (*results.Result, error)
}

// Attempt is what the runner hands to a Solver.
type Attempt struct {
	Instance dataset.Instance
	Number   int                   // from 1, over all runs into the directory
	Report   func(Progress)        // never nil; cheap; safe to call from the solving goroutine
	Spend    func(dollars float64) // settles what a call cost against the run's budget
	Admit    func() error          // asked before each paid call; ErrBudget when the run's money is spent
}

// Progress is what a person sees of a running instance.
type Progress struct {
	Phase string // "pull", "start", "model", "command", "save"
	Step  int
	Cost  float64 // US dollars, this attempt
}

// Store keeps what attempts leave behind. results.Store is the one that lasts.
type Store interface {
	Put(ctx context.Context, r *results.Result) error
}
