package vocab

// Verdict is how the grading of one prediction ended, by blame.
type Verdict string

// The verdicts. The first five say something about the prediction and count in rates.
// The last two do not: grading is tried again, and rates show how many are missing.
const (
	VerdictResolved       Verdict = "resolved"
	VerdictUnresolved     Verdict = "unresolved"
	VerdictNoApply        Verdict = "no_apply"       // the patch does not apply
	VerdictEmpty          Verdict = "empty_patch"    // there was nothing to test
	VerdictTimedOut       Verdict = "timed_out"      // the tests took longer than their limit
	VerdictInfrastructure Verdict = "infrastructure" // the engine, the image or the machine failed
	VerdictUngradeable    Verdict = "ungradeable"    // the row or the log lacks what a verdict needs
)

// Verdicts are all verdicts, in the order in which tables show them.
func Verdicts() []Verdict {
	return []Verdict{
		VerdictResolved, VerdictUnresolved, VerdictNoApply, VerdictEmpty, VerdictTimedOut,
		VerdictInfrastructure, VerdictUngradeable,
	}
}

// Counts reports whether v says something about the prediction, and so counts in rates. A
// prediction with another verdict is graded again.
func (v Verdict) Counts() bool {
	switch v {
	case VerdictResolved, VerdictUnresolved, VerdictNoApply, VerdictEmpty, VerdictTimedOut:
		return true
	}
	return false
}

// String returns v for a person: "patch does not apply".
func (v Verdict) String() string {
	switch v {
	case VerdictNoApply:
		return "patch does not apply"
	case VerdictEmpty:
		return "empty patch"
	case VerdictTimedOut:
		return "timed out"
	}
	return string(v)
}
