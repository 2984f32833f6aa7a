package runner

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Worker makes attempts at jobs of type J, from which come results of type R.
// Its methods are called from many goroutines at once.
type Worker[J, R any] interface {
	// Name is what a job is called in logs and events.
	Name(job J) string

	// Do makes one attempt. It must release everything it took before it
	// returns, also when ctx is cancelled. An error is a fault with blame,
	// [ErrBudget], or a cancellation; the result is then what is known so far.
	Do(ctx context.Context, a Attempt[J]) (R, error)

	// Save keeps what came of an attempt, err being what Do returned, and says how
	// that ended. It returns when the result is as durable as the Worker promises. A
	// panic is a fault.Bug around a [*Panic], with the zero R.
	Save(ctx context.Context, job J, result R, err error) (Ending, error)
}

// Attempt is what the pool hands to a Worker. Its functions may be called
// from the goroutine of Do for as long as Do runs; none is ever nil.
type Attempt[J any] struct {
	Job    J
	Number int            // from 1, within this run
	Queued time.Duration  // it waited for a worker, or since the attempt before
	Report func(Progress) // tells what the job is doing; cheap

	// Reserve is asked before each paid call, see Budget.Reserve: ErrBudget
	// when the money is spent.
	Reserve func(context.Context) (*Reservation, error)

	// Keep takes what the next attempt at the job may use, and Kept returns what one
	// before gave, nil if none did; it is the Worker's again. What nobody takes
	// is closed when no further attempt comes.
	Keep func(io.Closer)
	Kept func() io.Closer
}

// Progress is what a person sees of a running job.
type Progress struct {
	Phase string  // "pull", "start", "model", "scrub", "command", "save"
	Step  int     // model calls so far
	Cost  float64 // US dollars, this attempt
}

// Panic is what a Worker's Do panicked with.
type Panic struct {
	Value any
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprint(p.Value) }
