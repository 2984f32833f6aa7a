package runner

import (
	"errors"
	"fmt"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

// State says what an attempt leaves to do.
type State int

// A job ends in one of these.
const (
	Failed  State = iota // it has no result
	Final                // it has a result
	Pending              // it was told to stop, and goes on in a later run
)

// Ending is how an attempt ended. What is not known stays empty.
type Ending struct {
	State State

	// The names by which retries are asked for, see [Retries]. Blame is the kind of a
	// fault, which may pass with time; without one another attempt needs no wait.
	Status  vocab.Status
	Blame   string
	Outcome vocab.Outcome

	Error string
	Steps int     // model calls
	Cost  float64 // US dollars
}

// EndingOf returns the ending that err makes of an attempt, nil being a result.
func EndingOf(err error) Ending {
	switch kind := fault.KindOf(err); {
	case err == nil:
		return Ending{State: Final}
	case errors.Is(err, ErrBudget):
		return Ending{State: Pending, Outcome: vocab.OutcomePending, Status: vocab.StatusBudgetExceeded, Error: err.Error()}
	case fault.Canceled(err):
		return Ending{State: Pending, Outcome: vocab.OutcomePending, Status: vocab.StatusInterrupted, Error: err.Error()}
	default:
		e := Ending{Outcome: vocab.OutcomeInfrastructure, Status: kind.Status(), Blame: kind.String(), Error: err.Error()}
		if hint := fault.HintOf(err); hint != "" {
			e.Error = fmt.Sprintf("%s (%s)", e.Error, hint)
		}
		return e
	}
}
