package agent

import (
	"encoding/base64"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Interrupt is an error that breaks the flow of a run. Run appends its
// messages and goes on, unless the last of them has the role exit. A Turn's
// Admit may return one to put words between two steps.
type Interrupt struct {
	Name     vocab.Status
	Messages []llm.Message
}

// Error returns the interrupt's name.
func (i *Interrupt) Error() string { return string(i.Name) }

// Interrupted returns what a person says in the middle of a run; the model
// reads it as the next message.
func Interrupted(words string) *Interrupt {
	return &Interrupt{vocab.StatusUserInterruption, []llm.Message{{
		Role: llm.RoleUser, Parts: llm.Say(words),
		Extra: map[string]any{"interrupt_type": string(vocab.StatusUserInterruption)},
	}}}
}

// exit is an interrupt that ends the run with nothing submitted.
func exit(status vocab.Status) *Interrupt {
	return &Interrupt{status, []llm.Message{exitMessage(status, string(status), nil)}}
}

func exitMessage(status vocab.Status, content string, submitted []byte) llm.Message {
	extra := map[string]any{"exit_status": string(status), "submission": python.Text(submitted)}
	if !utf8.Valid(submitted) {
		extra["submission_base64"] = base64.StdEncoding.EncodeToString(submitted)
	}
	return llm.Message{Role: llm.RoleExit, Parts: llm.Say(content), Extra: extra}
}

// errorMessage ends a run with what went wrong, in mini-swe-agent's members.
func errorMessage(status vocab.Status, err error) llm.Message {
	m := exitMessage(status, err.Error(), nil)
	m.Extra["exception_str"] = err.Error()
	if hint := fault.HintOf(err); hint != "" {
		m.Extra["hint"] = hint
	}
	return m
}
