package vocab

// Outcome is how an attempt ended, by blame.
type Outcome string

// Every instance ends as one of these. The first five are results: they are
// kept on resume and count in a score. Infrastructure is ours and is run
// again; Pending was told to stop and goes on later. Diverged was resumed in a fresh
// container in which its commands did not do again what they had done: what the
// model saw is not what is there, so that it is no result, and starts again.
const (
	OutcomeSubmitted      Outcome = "submitted"
	OutcomeEmpty          Outcome = "empty" // submitted nothing
	OutcomeLimit          Outcome = "limit" // its own step, cost or time limit, or the model's context
	OutcomeFormat         Outcome = "format"
	OutcomeFailed         Outcome = "failed" // the model, or what it did, ended the attempt
	OutcomeInfrastructure Outcome = "infrastructure"
	OutcomePending        Outcome = "pending"
	OutcomeDiverged       Outcome = "diverged"
)

// Final reports whether the outcome is a result, which a resume keeps.
func (o Outcome) Final() bool {
	switch o {
	case OutcomeSubmitted, OutcomeEmpty, OutcomeLimit, OutcomeFormat, OutcomeFailed:
		return true
	default:
		return false
	}
}
