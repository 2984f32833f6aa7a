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

// Conversation is the input of a [Turn]'s Rewrite. Messages must not be changed.
type Conversation struct {
	Task     string
	Messages []llm.Message // of the next request
	Tokens   int64         // estimated, of the next request, the tools included

	// Size estimates a message's part of Tokens. It also takes messages that are not in
	// the conversation.
	Size func(llm.Message) int64

	// Refused says that the provider has refused exactly these Messages because they are
	// too long. If they are rewritten, the call is made once more; otherwise the run ends.
	Refused bool
}

// Rewriting replaces parts of the conversation that is sent to the model, so that a long
// one fits. Afterwards every tool call must have its result and every result its call, and
// something must be left to send. A reply must be replaced as a whole or not at all:
// providers check the signatures in it.
type Rewriting struct {
	Policy string // the name of the policy, for people
	Edits  []Edit // in order, without overlaps
}

// Edit replaces the messages from index From up to, but not including, To.
type Edit struct {
	From, To int
	Messages []llm.Message
}

// Rewritten is a rewriting that has taken place.
type Rewritten struct {
	Rewriting
	Before, After int64 // estimated tokens of the request
	Refused       bool  // the provider had refused the conversation
}

// rewrite calls the turn's Rewrite and records the result. It reports whether anything was
// replaced. Replaced messages stay in r.messages, and their replacements are not added.
func (r *run) rewrite(ctx context.Context, refused bool) (bool, error) {
	if r.turn.Rewrite == nil {
		return false, nil
	}
	before := r.gauge
	w, err := r.turn.Rewrite(ctx, Conversation{
		Task: r.turn.Task, Messages: r.sent, Tokens: before.tokens, Size: before.size, Refused: refused,
	})
	if err != nil || w == nil || len(w.Edits) == 0 {
		return false, err
	}
	for _, e := range w.Edits {
		for i := range e.Messages {
			r.stamp(&e.Messages[i])
		}
	}
	sent, removed, added, err := w.apply(r.sent)
	if err != nil {
		return false, err
	}
	after := before.tokens
	for _, m := range removed {
		after -= before.size(m)
	}
	for _, m := range added {
		after += before.size(m)
	}
	after = max(1, after)
	err = r.record(ctx, Event{Type: EventRewrite, Step: r.end.Calls + 1, Rewritten: &Rewritten{*w, before.tokens, after, refused}})
	if err != nil {
		return false, err
	}
	r.resend(sent)
	r.gauge.tokens = after
	return true, nil
}

// resend replaces the conversation that is sent.
func (r *run) resend(sent []llm.Message) {
	r.sent, r.wire = nil, nil
	clear(r.callIDs) // a resumed run knows only the ids in the conversation
	r.digest, r.gauge = newDigest(r.form.tools), newGauge(r.form.tools)
	for _, m := range sent {
		r.send(m)
	}
}

// apply returns the messages after the rewriting, and what it removed and added.
func (w *Rewriting) apply(messages []llm.Message) (sent, removed, added []llm.Message, err error) {
	at := 0
	for _, e := range w.Edits {
		if e.From < at || e.To < e.From || e.To > len(messages) {
			return nil, nil, nil, fault.Newf(fault.Bug, "rewriting messages %d to %d of %d: they do not exist, or are rewritten twice",
				e.From, e.To, len(messages))
		}
		removed, added, at = append(removed, messages[e.From:e.To]...), append(added, e.Messages...), e.To
	}
	sent = edited(messages, w.Edits)
	switch {
	case len(sent) == 0:
		return nil, nil, nil, fault.Newf(fault.Bug, "rewriting %d messages: nothing would be left to send", len(messages))
	case paired(messages) && !paired(sent): // a text agent leaves calls without results
		return nil, nil, nil, fault.Newf(fault.Bug, "rewriting %d messages: a tool call would lose its result, or a result its call", len(messages))
	}
	return sent, removed, added, nil
}

// edited returns messages with edits.
func edited(messages []llm.Message, edits []Edit) (list []llm.Message) {
	at := 0
	for _, e := range edits {
		list, at = append(append(list, messages[at:e.From]...), e.Messages...), e.To
	}
	return append(list, messages[at:]...)
}

// paired reports whether every tool call is answered before any other message, and every tool
// result answers a call.
func paired(messages []llm.Message) bool {
	open := map[string]bool{}
	for _, m := range messages {
		if m.Role != llm.RoleTool && len(open) > 0 {
			return false
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.ToolResult:
				if !open[p.CallID] {
					return false
				}
				delete(open, p.CallID)
			case llm.ToolCall:
				open[p.ID] = true
			}
		}
	}
	return len(open) == 0
}

// failed counts the waits of a failed call. It records a refusal because of the length if a
// shorter conversation can be sent.
func (r *run) failed(ctx context.Context, step int, err error) error {
	r.waitedFor(llm.Waited(err))
	if !r.mayFit(err) {
		return err
	}
	if lost := r.record(ctx, Event{Type: EventRefused, Step: step, Err: err}); lost != nil {
		return lost
	}
	return err
}

// mayFit reports whether a call failed because the conversation is too long, and can be
// made again with a shorter one.
func (r *run) mayFit(err error) bool {
	return r.turn.Rewrite != nil && fault.KindOf(err) == fault.Instance && llm.TooLong(err)
}

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
	if err := r.record(ctx, Event{Type: EventProbe, Step: step, Digest: sum.String(), Tokens: size.tokens, Beside: r.relayed != nil}); err != nil {
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
