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
		StatusContentPolicyViolation, StatusEnvironmentDestroyed, StatusRepeatedFormatError, StatusAnswered, StatusInputRequired, StatusEnded,
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
	case StatusContentPolicyViolation, StatusContentPolicyViolationError, StatusEnvironmentDestroyed, StatusAnswered, StatusInputRequired, StatusEnded:
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
