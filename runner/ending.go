package runner

import (
	"errors"
	"fmt"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// Ending is how an attempt ended. Fields that are not known are empty.
type Ending struct {
	// The keys of [Retries] that apply. Blame is the kind of a fault: the next attempt waits
	// only after a fault. The Outcome says whether the job is finished: it is if the outcome is
	// final, a later run continues it if it is pending, and otherwise it has failed.
	Status  vocab.Status
	Blame   string
	Outcome vocab.Outcome

	Error string
	Steps int     // model calls
	Cost  float64 // US dollars
}

// EndingOf returns the ending of an attempt that returned err. Nil means that it has a
// result, which is submitted.
func EndingOf(err error) Ending {
	switch kind := fault.KindOf(err); {
	case err == nil:
		return Ending{Outcome: vocab.OutcomeSubmitted}
	case errors.Is(err, ErrBudget):
		return Ending{Outcome: vocab.OutcomePending, Status: vocab.StatusBudgetExceeded, Error: err.Error()}
	case fault.Canceled(err):
		return Ending{Outcome: vocab.OutcomePending, Status: vocab.StatusInterrupted} // the error would add nothing
	default:
		e := Ending{Outcome: vocab.OutcomeInfrastructure, Status: kind.Status(), Blame: kind.String(), Error: err.Error()}
		if hint := fault.HintOf(err); hint != "" {
			e.Error = fmt.Sprintf("%s (%s)", e.Error, hint)
		}
		return e
	}
}
