package runner

import (
	"context"
	"fmt"
	"io"
	"time"

	"batch.example/batch/vocab"
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
	Number int           // from 1, within this run
	Queued time.Duration // time since the previous attempt; for the first one, since the run began

	// Report reports what the job is doing, with an EventPhase, or that a call failed, with an
	// EventCallRetry. The job and the number are added. It is cheap.
	Report func(vocab.Event)

	// Reserve must be called before each paid call. It returns ErrBudget if the money is
	// spent: see Budget.Reserve.
	Reserve func(context.Context) (*Reservation, error)

	// Keep keeps a value for the next attempt at the job. Kept returns the value of an
	// earlier attempt, or nil; from then on, the Worker owns it. If no attempt takes it, it
	// is closed after the last one.
	Keep func(io.Closer)
	Kept func() io.Closer
}

// Panic is the value with which a Worker's Do panicked.
type Panic struct {
	Value any
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprint(p.Value) }
