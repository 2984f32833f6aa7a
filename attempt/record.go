package attempt

import (
	"fmt"
	"log/slog"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
)

// Records of the attempt itself; package session writes the records of its turns.

func (t *attempt) append(typ string, data any) error {
	defer t.watch.during(&t.watch.spent.Save)()
	return t.journal.Append(typ, data)
}

func (t *attempt) flushed(typ string, data any) error {
	defer t.watch.during(&t.watch.spent.Save)()
	if err := t.append(typ, data); err != nil {
		return err
	}
	return t.journal.Flush()
}

func (t *attempt) durable(typ string, data any) error {
	defer t.watch.during(&t.watch.spent.Save)()
	if err := t.append(typ, data); err != nil {
		return err
	}
	return t.journal.Sync()
}

// logEvent writes what the journal has to the instance's log.
func (t *attempt) logEvent(e agent.Event) {
	switch e.Type {
	case agent.EventRewrite:
		w, replaced := e.Rewritten, 0
		for _, edit := range w.Edits {
			replaced += edit.To - edit.From
		}
		t.log.Info("the conversation was rewritten", "step", e.Step, "policy", w.Policy, "messages", replaced, "tokens", w.Before, "tokens_now", w.After)
	case agent.EventProbe:
		t.logged.block(fmt.Sprintf("before step %d: a call that is no step", e.Step), nil)
	case agent.EventRepeat:
		next := e.Repeat
		t.logged.block(fmt.Sprintf("step %d: the model call failed and will be made again, try %d of %d in %s: %s",
			e.Step, next.Try, next.Tries, round(next.Wait), next.Reason), nil)
	case agent.EventReply:
		t.logged.reply(e)
		t.warnOfLength(e)
		t.warnOfPrice(e)
	case agent.EventProbed:
		t.logged.probed(e)
		t.warnOfPrice(e)
	case agent.EventAction:
		t.logged.command(e)
	case agent.EventOutput:
		t.logged.output(e)
	case agent.EventWarning: // the session logs it
	default:
		if note := e.Note(); note != "" {
			t.logged.block(fmt.Sprintf("step %d: %s", e.Step, note), nil)
		}
	}
}

// warnOfPrice warns once that the cost of replies is unknown. Under a total cost limit
// such a reply ends the attempt instead.
func (t *attempt) warnOfPrice(e agent.Event) {
	if e.Response.Priced || t.limited || t.free {
		return
	}
	t.free = true
	why, _ := session.Unpriced(t.ModelName, e.Response)
	counts := "bills name such replies, with what was reserved for them"
	if !t.Uncounted {
		counts += "; with agent.cost_limit the attempt ends"
	}
	t.warn(why+": "+counts, "step", e.Step)
}

// warnedAt is the used part of the model's context, in percent, at which the attempt warns.
const warnedAt = 80

// warnOfLength warns once, before a conversation is too long.
func (t *attempt) warnOfLength(e agent.Event) {
	full := percentOf(e)
	if full < warnedAt || t.long {
		return
	}
	t.long = true
	t.warn("the model's context is nearly full", "step", e.Step, "percent", full,
		"tokens", e.Response.Usage.Input+e.Response.Usage.Output, "window", e.Window)
}

// warn writes to the instance's log and to the run's.
func (t *attempt) warn(text string, args ...any) {
	for _, log := range []*slog.Logger{t.log, t.Log} {
		log.Warn(text, append([]any{"instance", t.in.ID}, args...)...)
	}
}

// percentOf is the used part of the model's context after a reply, in percent; 0 if unknown.
func percentOf(e agent.Event) int64 {
	u := e.Response.Usage
	if e.Window <= 0 || u.Input <= 0 {
		return 0
	}
	return 100 * (u.Input + u.Output) / e.Window
}
