package runner

import (
	"errors"
	"fmt"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// State says whether a job is finished after an attempt.
type State int

// A job ends in one of these.
const (
	Failed  State = iota // it has no result
	Final                // it has a result
	Pending              // it was interrupted, and a later run continues it
)

// Ending is how an attempt ended. Fields that are not known are empty.
type Ending struct {
	State State

	// The keys of [Retries] that apply. Blame is the kind of a fault: the next attempt waits
	// only after a fault.
	Status  vocab.Status
	Blame   string
	Outcome vocab.Outcome

	Error string
	Steps int     // model calls
	Cost  float64 // US dollars
}

// EndingOf returns the ending of an attempt that returned err. Nil means that it has a
// result.
func EndingOf(err error) Ending {
	switch kind := fault.KindOf(err); {
	case err == nil:
		return Ending{State: Final}
	case errors.Is(err, ErrBudget):
		return Ending{State: Pending, Outcome: vocab.OutcomePending, Status: vocab.StatusBudgetExceeded, Error: err.Error()}
	case fault.Canceled(err):
		return Ending{State: Pending, Outcome: vocab.OutcomePending, Status: vocab.StatusInterrupted} // the error would add nothing
	default:
		e := Ending{Outcome: vocab.OutcomeInfrastructure, Status: kind.Status(), Blame: kind.String(), Error: err.Error()}
		if hint := fault.HintOf(err); hint != "" {
			e.Error = fmt.Sprintf("%s (%s)", e.Error, hint)
		}
		return e
	}
}
