package vocab

// Status is how a run of an agent, or an attempt, ended in one word: its exit status.
type Status string

// Exit statuses of an agent's run, which are the names of the interrupts that end it.
const (
	StatusSubmitted              Status = "Submitted"
	StatusLimitsExceeded         Status = "LimitsExceeded"
	StatusTimeExceeded           Status = "TimeExceeded"
	StatusContextWindowExceeded  Status = "ContextWindowExceeded"  // the model takes no longer conversation
	StatusContentPolicyViolation Status = "ContentPolicyViolation" // its provider refuses what is in it
	StatusEnvironmentDestroyed   Status = "EnvironmentDestroyed"   // what the agent did left it none to work in
	StatusRepeatedFormatError    Status = "RepeatedFormatError"
	StatusUserInterruption       Status = "UserInterruption" // ends a run that is told to stop
)

// Interrupts that a run goes on after. No attempt ends as one of them.
const (
	StatusFormatError      Status = "FormatError"
	StatusExecutionTimeout Status = "ExecutionTimeout"
)

// Exit statuses of an attempt that ended by a fault, one for each of its kinds.
const (
	StatusUnknownFault   Status = "UnknownFault"
	StatusUsageFault     Status = "UsageFault"
	StatusInstanceFault  Status = "InstanceFault"
	StatusTransientFault Status = "TransientFault"
	StatusHostFault      Status = "HostFault"
	StatusBug            Status = "Bug"
)

// Exit statuses of an attempt, or of an instance, that has not come to an end of its own.
const (
	StatusNotRun         Status = "not run"
	StatusRunning        Status = "Running"
	StatusInterrupted    Status = "Interrupted"    // by a stop or a crash
	StatusBudgetExceeded Status = "BudgetExceeded" // of the whole run
	StatusReplayDiverged Status = "ReplayDiverged" // see [OutcomeDiverged]
)

// Exit statuses that only other tools write, and that of a prediction without one.
const (
	StatusContextWindowExceededError  Status = "ContextWindowExceededError"
	StatusContentPolicyViolationError Status = "ContentPolicyViolationError"
	StatusUnknown                     Status = "Unknown"
)

// Outcome classifies an attempt that ended so, of which a submission is not empty.
func (s Status) Outcome() Outcome {
	switch s {
	case StatusSubmitted:
		return OutcomeSubmitted
	case StatusLimitsExceeded, StatusTimeExceeded, StatusContextWindowExceeded, StatusContextWindowExceededError:
		return OutcomeLimit
	case StatusRepeatedFormatError:
		return OutcomeFormat
	case StatusContentPolicyViolation, StatusContentPolicyViolationError, StatusEnvironmentDestroyed:
		return OutcomeFailed
	case StatusUserInterruption, StatusInterrupted, StatusBudgetExceeded, StatusRunning, StatusNotRun:
		return OutcomePending
	case StatusReplayDiverged:
		return OutcomeDiverged
	default:
		return OutcomeInfrastructure
	}
}
