package agent

import (
	"encoding/base64"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/llm"
)

// Names of interrupts. Those that end a run are its exit status too.
const (
	Submitted              = "Submitted"
	LimitsExceeded         = "LimitsExceeded"
	TimeExceeded           = "TimeExceeded"
	ContextWindowExceeded  = "ContextWindowExceeded"  // the model takes no longer conversation
	ContentPolicyViolation = "ContentPolicyViolation" // its provider refuses what is in it
	EnvironmentDestroyed   = "EnvironmentDestroyed"   // what the agent did left it none to work in
	FormatError            = "FormatError"
	RepeatedFormatError    = "RepeatedFormatError"
	ExecutionTimeout       = "ExecutionTimeout"
	UserInterruption       = "UserInterruption"
)

// Interrupt is an error that breaks the flow of a run. Run appends its
// messages and goes on, unless the last of them has the role exit. A Turn's
// Admit may return one to put words between two steps.
type Interrupt struct {
	Name     string
	Messages []llm.Message
}

// Error returns the interrupt's name.
func (i *Interrupt) Error() string { return i.Name }

// Interrupted returns what a person says in the middle of a run; the model
// reads it as the next message.
func Interrupted(words string) *Interrupt {
	return &Interrupt{UserInterruption, []llm.Message{{
		Role: llm.RoleUser, Parts: llm.Say(words),
		Extra: map[string]any{"interrupt_type": UserInterruption},
	}}}
}

// exit is an interrupt that ends the run with nothing submitted.
func exit(status string) *Interrupt {
	return &Interrupt{status, []llm.Message{exitMessage(status, status, nil)}}
}

func exitMessage(status, content string, submitted []byte) llm.Message {
	extra := map[string]any{"exit_status": status, "submission": python.Text(submitted)}
	if !utf8.Valid(submitted) {
		extra["submission_base64"] = base64.StdEncoding.EncodeToString(submitted)
	}
	return llm.Message{Role: llm.RoleExit, Parts: llm.Say(content), Extra: extra}
}

// errorMessage ends a run with what went wrong, in mini-swe-agent's members.
func errorMessage(status string, err error) llm.Message {
	m := exitMessage(status, err.Error(), nil)
	m.Extra["exception_str"] = err.Error()
	if hint := fault.HintOf(err); hint != "" {
		m.Extra["hint"] = hint
	}
	return m
}
