package agent

import (
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Interrupt is an error that breaks the flow of a run. Run appends its
// messages and continues, unless the last of them has the role exit. A Turn's
// Admit may return one to add a message between two steps.
type Interrupt struct {
	Name     vocab.Status
	Messages []llm.Message
}

// Error returns the interrupt's name.
func (i *Interrupt) Error() string { return string(i.Name) }

// Interrupted returns an interrupt with a person's message in the middle of a run. The
// model reads it as the next message.
func Interrupted(words string) *Interrupt {
	return &Interrupt{vocab.StatusUserInterruption, []llm.Message{{
		Role: llm.RoleUser, Parts: llm.Say(words),
		Extra: map[string]any{"interrupt_type": string(vocab.StatusUserInterruption)},
	}}}
}

// exit returns an interrupt that ends the run without a submission.
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

// errorMessage returns the message that ends a run with an error, with mini-swe-agent's
// fields.
func errorMessage(status vocab.Status, err error) llm.Message {
	m := exitMessage(status, err.Error(), nil)
	m.Extra["exception_str"] = err.Error()
	if hint := fault.HintOf(err); hint != "" {
		m.Extra["hint"] = hint
	}
	return m
}

// refusal returns the interrupt for a call that failed because of the conversation's
// content, which ends the run as a limit does. Any other error is returned unchanged.
func (r *run) refusal(err error) error {
	switch {
	case fault.KindOf(err) != fault.Instance:
		return err
	case errors.Is(err, llm.ErrContextLength):
		return r.refused(vocab.StatusContextWindowExceeded, err)
	case errors.Is(err, llm.ErrContentPolicy):
		return r.refused(vocab.StatusContentPolicyViolation, err)
	default:
		return err
	}
}

// filtered returns the interrupt for a reply that a content filter has emptied. The reply
// was paid for, so it is kept with the exit message, as after a format error.
func (r *run) filtered(resp *llm.Response) error {
	stop := r.refused(vocab.StatusContentPolicyViolation, fmt.Errorf("%w: the answer is empty and its finish_reason is %q", llm.ErrContentPolicy, resp.FinishReason))
	extra := stop.Messages[0].Extra
	extra["cost"], extra["response"] = resp.Cost, ReplyRef{r.end.Calls}
	return stop
}

// destroyed returns the interrupt for a command that could not run because the agent has
// made its environment unusable. Any other error is returned unchanged.
func (r *run) destroyed(err error) error {
	if !errors.Is(err, vocab.ErrDestroyed) {
		return err
	}
	return r.refused(vocab.StatusEnvironmentDestroyed, err)
}

// refused returns an interrupt that ends the run without a submission and with the error
// of the provider or the environment.
func (r *run) refused(status vocab.Status, err error) *Interrupt {
	r.end.Reason = err.Error()
	return &Interrupt{status, []llm.Message{errorMessage(status, err)}}
}
