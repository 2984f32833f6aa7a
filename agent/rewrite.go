package agent

import (
	"context"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// Rewriting replaces a part of the conversation that is sent to the model, so that a long
// one fits: Messages replace the messages from index From up to, but not including, To. A
// reply and the answers to its tool calls must be replaced together or not at all, and
// something must be left to send.
type Rewriting struct {
	From, To int
	Messages []llm.Message
}

// rewrite calls the turn's Rewrite and records the result. Replaced messages stay in
// r.messages.
func (r *run) rewrite(ctx context.Context) error {
	if r.turn.Rewrite == nil {
		return nil
	}
	w, err := r.turn.Rewrite(ctx, r.sent)
	if err != nil || w == nil {
		return err
	}
	if w.From < 0 || w.To < w.From || w.To > len(r.sent) || splits(r.sent, w.From) || splits(r.sent, w.To) {
		return fault.Newf(fault.Bug, "rewriting messages %d to %d of %d: they do not exist, or a tool call would lose its result",
			w.From, w.To, len(r.sent))
	}
	if w.From == 0 && w.To == len(r.sent) && len(w.Messages) == 0 {
		return fault.Newf(fault.Bug, "rewriting messages %d to %d of %d: nothing would be left to send", w.From, w.To, len(r.sent))
	}
	for i := range w.Messages {
		r.stamp(&w.Messages[i])
	}
	if err := r.record(ctx, Event{Type: EventRewrite, Messages: w.Messages, From: w.From, To: w.To}); err != nil {
		return err
	}
	sent := slices.Concat(r.sent[:w.From], w.Messages, r.sent[w.To:])
	r.messages, r.sent = append(r.messages, w.Messages...), nil
	clear(r.callIDs) // a run that is resumed has those of the conversation only
	r.digest = newDigest(r.loop.form.tools)
	for _, m := range sent {
		r.send(m)
	}
	return nil
}

// splits reports whether a cut before messages[i] separates a reply from an answer to it.
func splits(messages []llm.Message, i int) bool {
	return i < len(messages) && messages[i].Role == llm.RoleTool
}
