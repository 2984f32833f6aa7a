package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// nearlyFull is the part of the model's window, in percent, above which a refusal in words that
// are not known may be about the length.
const nearlyFull = 90

// explained finds out whether a provider refused a conversation because of its length, where its
// words do not say it: it accepts the conversation without its older steps. They were accepted
// before, so that nothing else in them can be the reason. That call is paid, and is not a step.
func (r *run) explained(ctx context.Context, step int, err error) error {
	_, unclear := errors.AsType[*llm.Unclear](err)
	if !unclear || r.turn.Window <= 0 || 100*r.gauge.tokens <= nearlyFull*r.turn.Window {
		return err
	}
	shorter := r.shortened(r.turn.Window / 2)
	if shorter == nil {
		return err
	}
	if lost := r.record(ctx, Event{Type: EventRefused, Step: step, Err: err}); lost != nil {
		return lost
	}
	_, failed := r.ask(ctx, shorter)
	switch {
	case failed == nil:
		return fault.New(fault.Instance, "", fmt.Errorf("%w: about %d tokens, window %d; it was accepted without its older steps: %w",
			llm.ErrContextLength, r.gauge.tokens, r.turn.Window, err))
	case fault.KindOf(failed) == fault.Instance:
		return err
	}
	return failed
}

// shortened returns what is sent without its older steps, so that about limit tokens are left: the
// messages before the first reply, and the last steps. The last step, which the provider has not
// read before, is cut only if it is longer than that alone. Nil is that there is no step.
func (r *run) shortened(limit int64) []llm.Message {
	isReply := func(m llm.Message) bool { return m.Role == llm.RoleAssistant }
	first := slices.IndexFunc(r.sent, isReply)
	if first < 0 {
		return nil
	}
	from, tokens, all := len(r.sent), int64(0), int64(0)
	for i := len(r.sent) - 1; i >= first; i-- {
		all += r.gauge.size(r.sent[i])
		if last := from == len(r.sent); isReply(r.sent[i]) && (last || all <= limit) {
			from, tokens = i, all
		}
	}
	kept := slices.Concat(r.sent[:first], r.sent[from:])
	for i := first; i < len(kept) && tokens > limit; i++ {
		if !isReply(kept[i]) {
			kept[i].Parts = cutTexts(kept[i].Parts, int(limit)/(len(kept)-first)*bytesPerToken)
		}
	}
	return kept
}

// cutTexts returns parts with texts of at most about most bytes, without their middle.
func cutTexts(parts []llm.Part, most int) []llm.Part {
	return mapTexts(parts, func(text string) string {
		if len(text) <= most {
			return text
		}
		return strings.ToValidUTF8(text[:most/2], "") + "\n...\n" + strings.ToValidUTF8(text[len(text)-most/2:], "")
	})
}
