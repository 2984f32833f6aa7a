package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// nearlyFull is the part of the model's window, in percent, above which a refusal in words that
// are not known may be about the length. What is set aside for the answer may leave less.
const nearlyFull = 90

// explained finds out whether a provider refused a conversation because of its length, where its
// words do not say it: it accepts the conversation without its older steps. They were accepted
// before, so that nothing else in them can be the reason. That call is paid, and is not a step.
func (r *run) explained(ctx context.Context, step int, err error) error {
	unclear, ok := errors.AsType[*llm.Unclear](err)
	if !ok || r.turn.Window <= 0 {
		return err
	}
	full := nearlyFull * r.turn.Window / 100
	if left := r.turn.Window - unclear.Answer; left > 0 {
		full = min(full, left)
	}
	if r.gauge.tokens <= full {
		return err
	}
	shorter := r.shortened(full / 2)
	if shorter == nil {
		return err
	}
	if lost := r.record(ctx, Event{Type: EventRefused, Step: step, Err: err}); lost != nil {
		return lost
	}
	refused := r.probe(ctx, shorter)
	switch {
	case refused == nil:
		return fault.New(fault.Instance, "", fmt.Errorf("%w: about %d tokens, window %d; it was accepted without its older steps: %w",
			llm.ErrContextLength, r.gauge.tokens, r.turn.Window, err))
	case fault.KindOf(refused) == fault.Instance: // it is settled by itself, and err ends the run
		return cmp.Or(r.record(ctx, Event{Type: EventRefused, Step: step, Err: refused}), err)
	}
	return refused
}

// shortened returns what is sent without its older steps, so that about limit tokens are left: the
// messages before the first reply, and the last steps. Nil is that no step can be left out, or that
// the last one is longer: the provider has not read it before, and it may be the reason.
func (r *run) shortened(limit int64) []llm.Message {
	isReply := func(m llm.Message) bool { return m.Role == llm.RoleAssistant }
	first := slices.IndexFunc(r.sent, isReply)
	from, all := len(r.sent), int64(0)
	for i := len(r.sent) - 1; i >= max(0, first); i-- {
		if all += r.gauge.size(r.sent[i]); all > limit {
			break
		}
		if isReply(r.sent[i]) {
			from = i
		}
	}
	if from == len(r.sent) || from == first {
		return nil
	}
	return slices.Concat(r.sent[:first], r.sent[from:])
}

// probe makes a call with other messages. It is not a step, and nothing is done with its answer.
func (r *run) probe(ctx context.Context, messages []llm.Message) error {
	sum, size := newDigest(r.form.tools), newGauge(r.form.tools)
	for _, m := range messages {
		sum.add(m)
		size.add(m)
	}
	if err := r.mayCall(ctx); err != nil {
		return err
	}
	step := r.end.Calls + 1
	if err := r.record(ctx, Event{Type: EventProbe, Step: step, Digest: sum.String(), Tokens: size.tokens}); err != nil {
		return err
	}
	req := r.request(ctx, step)
	req.Messages, req.Memo, req.Tokens = wire(messages, r.turn.StrictRoles), nil, size.tokens
	resp, latency, err := r.generate(ctx, req)
	if err != nil {
		return r.failed(ctx, step, err)
	}
	r.spend(resp)
	return r.record(ctx, Event{Type: EventProbed, Step: step, Digest: sum.String(), Response: resp, Answer: rawAnswer(resp), Latency: latency})
}
