package agent

import (
	"errors"
	"fmt"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// refusal is the interrupt for a call that failed by what is in the
// conversation, which ends the run as a limit does. Any other error stays.
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

// filtered is the interrupt for a reply of which a content filter left nothing.
// It was paid for, so it is kept beside the exit as that of a format error is.
func (r *run) filtered(resp *llm.Response) error {
	stop := r.refused(vocab.StatusContentPolicyViolation, fmt.Errorf("%w: the answer is empty and its finish_reason %q", llm.ErrContentPolicy, resp.FinishReason))
	extra := stop.Messages[0].Extra
	extra["cost"], extra["response"] = resp.Cost, ReplyRef{r.end.Calls}
	return stop
}

// destroyed is the interrupt for a command that could not be executed by what the
// agent did to its environment. Any other error stays.
func (r *run) destroyed(err error) error {
	if !errors.Is(err, vocab.ErrDestroyed) {
		return err
	}
	return r.refused(vocab.StatusEnvironmentDestroyed, err)
}

// refused ends the run with nothing submitted and says what the provider, or the
// environment, said.
func (r *run) refused(status vocab.Status, err error) *Interrupt {
	r.end.Reason = err.Error()
	return &Interrupt{status, []llm.Message{errorMessage(status, err)}}
}
