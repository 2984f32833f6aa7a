package runner

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Worker makes attempts at jobs of type J, with results of type R.
// Its methods are called from many goroutines at once.
type Worker[J, R any] interface {
	// Name returns the name of a job in logs and events.
	Name(job J) string

	// Do makes one attempt. Before it returns, it must release everything it took, even
	// if ctx is canceled. An error is a fault with blame, [ErrBudget], or a cancellation;
	// then the result has everything known so far.
	Do(ctx context.Context, a Attempt[J]) (R, error)

	// Save saves the result of an attempt and says how the attempt ended. Err is the error
	// of Do; if Do panicked, it is a fault.Bug around a [*Panic], and result is zero. Save
	// returns when the result is as durable as the Worker promises.
	Save(ctx context.Context, job J, result R, err error) (Ending, error)
}

// Attempt is one attempt at a job. Its functions may be called from the goroutine of Do for
// as long as Do runs; they are never nil.
type Attempt[J any] struct {
	Job    J
	Number int            // from 1, within this run
	Queued time.Duration  // time since the previous attempt; for the first one, since the run began
	Report func(Progress) // reports what the job is doing; cheap

	// Reserve must be called before each paid call. It returns ErrBudget if the money is
	// spent: see Budget.Reserve.
	Reserve func(context.Context) (*Reservation, error)

	// Keep keeps a value for the next attempt at the job. Kept returns the value of an
	// earlier attempt, or nil; from then on, the Worker owns it. If no attempt takes it, it
	// is closed after the last one.
	Keep func(io.Closer)
	Kept func() io.Closer
}

// Progress is the progress of a running job, for a person.
type Progress struct {
	Phase  string  // one of internal/progress's
	Step   int     // model calls so far
	Cost   float64 // US dollars, this attempt
	Retry  *Retry  // set if the call failed and will be made again
	Doing  string  // the command that runs, or the name of a tool; a program must not act on it
	Held   bool    // it waits because of a [Pause]
	Engine string  // the address of the engine where it runs; empty: not known or not named
}

// Retry describes the next try after a failed call.
type Retry struct {
	Try, Tries  int           // the number of the next try, and the limit; 0: not known
	Wait        time.Duration // until the next try
	RateLimited bool
	Reason      string
}

// Panic is the value with which a Worker's Do panicked.
type Panic struct {
	Value any
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprint(p.Value) }
