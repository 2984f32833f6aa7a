package vocab

// Outcome is how an attempt ended, by blame.
type Outcome string

// Every attempt has one of these outcomes. The first five are results: they are
// kept on resume and count in a score. Infrastructure is not the model's fault and is
// retried. Pending was interrupted and can be resumed. Diverged was resumed in a new
// container, where repeating its commands gave different outputs: the model has seen
// a state that no longer exists, so the instance starts again.
const (
	OutcomeSubmitted      Outcome = "submitted"
	OutcomeEmpty          Outcome = "empty" // submitted an empty patch
	OutcomeLimit          Outcome = "limit" // its own step, cost or time limit, or the model's context
	OutcomeFormat         Outcome = "format"
	OutcomeFailed         Outcome = "failed" // the model, or what it did, ended the attempt
	OutcomeInfrastructure Outcome = "infrastructure"
	OutcomePending        Outcome = "pending"
	OutcomeDiverged       Outcome = "diverged"
)

// Outcomes lists all outcomes: results first.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeSubmitted, OutcomeEmpty, OutcomeLimit, OutcomeFormat, OutcomeFailed,
		OutcomeInfrastructure, OutcomePending, OutcomeDiverged,
	}
}

// Final reports whether the outcome is a result, which a resume keeps.
func (o Outcome) Final() bool {
	switch o {
	case OutcomeSubmitted, OutcomeEmpty, OutcomeLimit, OutcomeFormat, OutcomeFailed:
		return true
	default:
		return false
	}
}
