package agent

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
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

// submitted takes a submission and returns its interrupt.
func (r *run) submitted(patch []byte) *Interrupt {
	r.end.Submission, r.end.Submitted = patch, true
	return &Interrupt{vocab.StatusSubmitted, []llm.Message{exitMessage(vocab.StatusSubmitted, python.Text(patch), patch)}}
}

func exitMessage(status vocab.Status, content string, submitted []byte) llm.Message {
	extra := map[string]any{"exit_status": string(status), "submission": python.Text(submitted)}
	if !utf8.Valid(submitted) {
		extra["submission_base64"] = base64.StdEncoding.EncodeToString(submitted)
	}
	return llm.Message{Role: llm.RoleExit, Parts: llm.Say(content), Extra: extra}
}

// Submission returns the patch that was submitted with the message that ended a run; ok is
// false if there was no submission.
func Submission(m llm.Message) (patch []byte, ok bool) {
	if m.Role != llm.RoleExit || m.Extra["exit_status"] != string(vocab.StatusSubmitted) {
		return nil, false
	}
	if text, exact := m.Extra["submission_base64"].(string); exact {
		patch, err := base64.StdEncoding.DecodeString(text)
		return patch, err == nil
	}
	text, ok := m.Extra["submission"].(string)
	return []byte(text), ok
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

// asks returns the interrupt of an action that asks a person, after observations. The
// person may have answered already.
func (r *run) asks(observations []llm.Message, actions []action) error {
	a := actions[0]
	if r.say != "" {
		observations = append(observations, answerOf(a.id, r.say))
		r.say = ""
		return r.skip(&Interrupt{Name: vocab.StatusUserInterruption}, false, observations, actions[1:])
	}
	r.end.Question, _ = a.Arguments["question"].(string)
	return &Interrupt{vocab.StatusInputRequired, append(observations, exitMessage(vocab.StatusInputRequired, r.end.Question, nil))}
}

// answerOf returns a person's answer to a call that asked.
func answerOf(callID, words string) llm.Message {
	return llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: callID, Parts: llm.Say(words)}}}
}

// shown returns the interrupt that shows the model the failure of a call, if that is
// allowed. Any other error is returned unchanged.
func (r *run) shown(ctx context.Context, step int, err error) error {
	if fault.KindOf(err) != fault.Transient || ctx.Err() != nil || r.modelErrors() >= r.loop.config.ModelErrors {
		return err
	}
	if lost := r.record(ctx, Event{Type: EventFailed, Step: step, Err: err}); lost != nil {
		return lost
	}
	return &Interrupt{vocab.StatusModelError, []llm.Message{{
		Role: llm.RoleUser, Parts: llm.Say("The last call of the model failed: " + reason(err) + "\nContinue, or try a different approach."),
		Extra: map[string]any{"interrupt_type": string(vocab.StatusModelError)},
	}}}
}

// modelErrors is the number of last calls that failed and were shown to the model. The
// messages say so, also in a run that is resumed.
func (r *run) modelErrors() (n int) {
	for _, m := range slices.Backward(r.sent) {
		if m.Extra["interrupt_type"] != string(vocab.StatusModelError) {
			break
		}
		n++
	}
	return n
}

// maxReason is the number of bytes of a failure that the model is shown.
const maxReason = 300

// reason is why a call failed, in short: without what was tried, and how often.
func reason(err error) string {
	for {
		f, ok := errors.AsType[*fault.Error](err)
		if !ok || f.Err == nil {
			return mask.Clip(strings.Join(strings.Fields(err.Error()), " "), maxReason)
		}
		err = f.Err
	}
}

// refusal returns the interrupt for a call that failed because of the conversation's
// content, which ends the run as a limit does. Any other error is returned unchanged.
func (r *run) refusal(err error) error {
	switch {
	case fault.KindOf(err) != fault.Instance, errors.Is(err, llm.ErrAccountLimit):
		return err
	case errors.Is(err, llm.ErrContextLength):
		return r.refused(vocab.StatusContextWindowExceeded, err)
	case errors.Is(err, llm.ErrContentPolicy):
		return r.refused(vocab.StatusContentPolicyViolation, err)
	default:
		return err
	}
}

// filtered returns the interrupt for a reply that a content filter has ended. The reply
// was paid for, so it is kept with the exit message, as after a format error. If a person
// has said something since, the run continues with that.
func (r *run) filtered(resp *llm.Response) error {
	var stop *Interrupt
	if r.say != "" {
		stop = r.interjection()
	} else {
		stop = r.refused(vocab.StatusContentPolicyViolation, fmt.Errorf("%w: the answer's finish_reason is %q", llm.ErrContentPolicy, resp.FinishReason))
	}
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
