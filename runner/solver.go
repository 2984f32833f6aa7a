package runner

import (
	"context"
	"io"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/results"
)

// Solver makes one attempt at one instance. It must release everything it
// took before it returns, also when ctx is cancelled. An error is a fault with
// blame, [ErrBudget], or a cancellation; the Result is then what is known so
// far, or nil. Solve is called from many goroutines at once.
type Solver interface {
	Solve(ctx context.Context, a Attempt) (*results.Result, error)
}

// Attempt is what the runner hands to a Solver. Its functions may be called
// from the solving goroutine for as long as Solve runs; none is ever nil.
type Attempt struct {
	Instance dataset.Instance
	Try      int            // from 1, within this run
	Queued   time.Duration  // it waited for a worker, or since the try before
	Report   func(Progress) // tells what the instance is doing; cheap

	// Reserve is asked before each paid call, see Budget.Reserve: ErrBudget
	// when the money is spent.
	Reserve func(context.Context) (*Reservation, error)

	// Keep takes what the next try at the instance may use, and Kept returns what a
	// try before this one gave, nil if none did; it is the Solver's again. What
	// nobody takes is closed when no further try comes.
	Keep func(io.Closer)
	Kept func() io.Closer
}

// Progress is what a person sees of a running instance.
type Progress struct {
	Phase string  // "pull", "start", "model", "scrub", "command", "save"
	Step  int     // model calls so far
	Cost  float64 // US dollars, this attempt
}

// Store keeps what attempts leave behind. Put returns when the result is as
// durable as the store promises; it is called from many goroutines at once.
type Store interface {
	Put(ctx context.Context, r *results.Result) error
}
