package vocab

// Status is the exit status of an agent's run or of an attempt: one word that says how it ended.
type Status string

// Exit statuses of an agent's run: the names of the interrupts that end it.
const (
	StatusSubmitted              Status = "Submitted"
	StatusLimitsExceeded         Status = "LimitsExceeded"
	StatusTimeExceeded           Status = "TimeExceeded"
	StatusContextWindowExceeded  Status = "ContextWindowExceeded"  // the conversation is longer than the model accepts
	StatusContentPolicyViolation Status = "ContentPolicyViolation" // the provider refuses its content
	StatusEnvironmentDestroyed   Status = "EnvironmentDestroyed"   // the agent's commands made it unusable
	StatusRepeatedFormatError    Status = "RepeatedFormatError"
	StatusProgramFailed          Status = "ProgramFailed"    // the agent's own program ended with an error
	StatusAnswered               Status = "Answered"         // the model answered without calling a tool, where that ends a run
	StatusInputRequired          Status = "InputRequired"    // the model has asked the person something
	StatusUserInterruption       Status = "UserInterruption" // the run was asked to stop
	StatusEnded                  Status = "Ended"            // a person ended the conversation after a turn without a result
)

// Interrupts after which a run continues. No attempt ends with one of them.
const (
	StatusFormatError      Status = "FormatError"
	StatusExecutionTimeout Status = "ExecutionTimeout"
	StatusModelError       Status = "ModelError" // a call failed, and the model is shown the error
)

// Exit statuses of an attempt that ended with a fault, one for each kind.
const (
	StatusUnknownFault   Status = "UnknownFault"
	StatusUsageFault     Status = "UsageFault"
	StatusInstanceFault  Status = "InstanceFault"
	StatusTransientFault Status = "TransientFault"
	StatusHostFault      Status = "HostFault"
	StatusBug            Status = "Bug"
	StatusExpiredFault   Status = "ExpiredFault"
)

// Exit statuses of an attempt or instance that did not finish by itself.
const (
	StatusNotRun         Status = "not run" // or the provider refused the run's first call
	StatusRunning        Status = "Running"
	StatusInterrupted    Status = "Interrupted"    // by a stop or a crash
	StatusBudgetExceeded Status = "BudgetExceeded" // of the whole run
	StatusReplayDiverged Status = "ReplayDiverged" // see [OutcomeDiverged]
)

// Exit statuses that only other tools write, and Unknown for a prediction without a status.
const (
	StatusContextWindowExceededError  Status = "ContextWindowExceededError"
	StatusContentPolicyViolationError Status = "ContentPolicyViolationError"
	StatusUnknown                     Status = "Unknown"
)

// Statuses lists the exit statuses of attempts that have ended, results first.
func Statuses() []Status {
	return []Status{
		StatusSubmitted, StatusLimitsExceeded, StatusTimeExceeded, StatusContextWindowExceeded,
		StatusContentPolicyViolation, StatusEnvironmentDestroyed, StatusRepeatedFormatError, StatusProgramFailed, StatusAnswered, StatusInputRequired, StatusEnded,
		StatusTransientFault, StatusInstanceFault, StatusHostFault, StatusUsageFault, StatusUnknownFault, StatusBug, StatusExpiredFault,
		StatusUserInterruption, StatusInterrupted, StatusBudgetExceeded, StatusReplayDiverged,
	}
}

// Outcome classifies an attempt that ended with s. A submission counts as not empty.
func (s Status) Outcome() Outcome {
	switch s {
	case StatusSubmitted:
		return OutcomeSubmitted
	case StatusLimitsExceeded, StatusTimeExceeded, StatusContextWindowExceeded, StatusContextWindowExceededError:
		return OutcomeLimit
	case StatusRepeatedFormatError:
		return OutcomeFormat
	case StatusContentPolicyViolation, StatusContentPolicyViolationError, StatusEnvironmentDestroyed, StatusProgramFailed, StatusAnswered, StatusInputRequired, StatusEnded:
		return OutcomeFailed
	case StatusUserInterruption, StatusInterrupted, StatusBudgetExceeded, StatusRunning, StatusNotRun:
		return OutcomePending
	case StatusReplayDiverged:
		return OutcomeDiverged
	default:
		return OutcomeInfrastructure
	}
}

// NeedsCorrection reports whether an attempt that ended with s can only succeed after a
// correction of its configuration, script, row or image.
func (s Status) NeedsCorrection() bool { return s == StatusUsageFault || s == StatusInstanceFault }

// Label returns the name of an ending on every screen: the exit status, with "(empty)" for
// a submission without a patch.
func (s Status) Label(o Outcome) string {
	switch {
	case s == StatusSubmitted && o == OutcomeEmpty:
		return "Submitted (empty)"
	case s == "":
		return string(StatusUnknown)
	}
	return string(s)
}

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

// Verdict is how the grading of one prediction ended, by blame.
type Verdict string

// The verdicts. The first six say something about the prediction and count in rates.
// The last two do not: grading is tried again, and rates show how many are missing.
const (
	VerdictResolved       Verdict = "resolved"
	VerdictUnresolved     Verdict = "unresolved"
	VerdictNoApply        Verdict = "no_apply"       // the patch does not apply
	VerdictEmpty          Verdict = "empty_patch"    // there was nothing to test
	VerdictTimedOut       Verdict = "timed_out"      // the tests took longer than their limit
	VerdictNoReward       Verdict = "no_reward"      // the task's own verifier gave none, in a container that worked
	VerdictInfrastructure Verdict = "infrastructure" // the engine, the image or the machine failed
	VerdictUngradeable    Verdict = "ungradeable"    // the row or the log lacks what a verdict needs
)

// Verdicts are all verdicts, in the order in which tables show them.
func Verdicts() []Verdict {
	return []Verdict{
		VerdictResolved, VerdictUnresolved, VerdictNoApply, VerdictEmpty, VerdictTimedOut, VerdictNoReward,
		VerdictInfrastructure, VerdictUngradeable,
	}
}

// Counts reports whether v says something about the prediction, and so counts in rates. A
// prediction with another verdict is graded again.
func (v Verdict) Counts() bool {
	switch v {
	case VerdictResolved, VerdictUnresolved, VerdictNoApply, VerdictEmpty, VerdictTimedOut, VerdictNoReward:
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
	case VerdictNoReward:
		return "no reward"
	}
	return string(v)
}
