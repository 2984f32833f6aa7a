package solver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
)

// recorder writes an agent's events to the journal, settles the cost of calls,
// and writes the instance's log.
type recorder struct {
	*attempt
	action string // id of the action that was recorded last
}

// Record implements agent.Recorder. A request is durable before it is sent and an
// action before it runs, each with every earlier event. Replies and outputs survive
// the end of this process at once; they become durable with the next request or action.
func (r *recorder) Record(_ context.Context, e agent.Event) error {
	switch e.Type {
	case agent.EventMessages:
		return r.append(journal.TypeMessages, journal.MessagesData{Messages: rawMessages(e.Messages)})
	case agent.EventRewrite: // durable with the request that follows
		return r.rewrite(e)
	case agent.EventRequest:
		return r.request(journal.TypeRequest, e)
	case agent.EventSummaryRequest:
		r.logged.block(fmt.Sprintf("before step %d: asking the model for a summary", e.Step), nil)
		return r.request(journal.TypeSummaryRequest, e)
	case agent.EventRepeat:
		next := e.Repeat
		r.logged.block(fmt.Sprintf("step %d: the model call failed and will be made again, try %d of %d in %s: %s",
			e.Step, next.Try, next.Tries, round(next.Wait), next.Reason), nil)
		return nil
	case agent.EventReply:
		return r.reply(e)
	case agent.EventSummary:
		return r.summary(e)
	case agent.EventRefused:
		return r.refused(e)
	case agent.EventAction:
		r.logged.command(e)
		r.action = actionID(e.Step, e.Action)
		return r.durable(journal.TypeAction, journal.ActionData{Step: e.Step, Action: e.Action, Command: e.Command})
	case agent.EventOutput:
		return r.output(e)
	case agent.EventInterrupt:
		r.logged.block(fmt.Sprintf("step %d: %s", e.Step, e.Interrupt), nil)
		return r.append(journal.TypeInterrupt, journal.InterruptData{Step: e.Step, Name: e.Interrupt})
	default:
		return nil
	}
}

// actionID names an action in its attempt's containers. It is the same in a resumed run,
// so that an action that was running when a run crashed does not run twice.
func actionID(step, action int) string { return fmt.Sprintf("%d.%d", step, action) }

// request records a call that is about to be made.
func (r *recorder) request(typ string, e agent.Event) error {
	err := r.durable(typ, journal.RequestData{Step: e.Step, Digest: e.Digest, Tokens: e.Tokens, Reserved: r.call.Reserved()})
	if err == nil {
		r.asked = e.Step
	}
	return err
}

func (r *recorder) reply(e agent.Event) error {
	r.logged.reply(e)
	r.warnOfLength(e)
	return r.answered(e, journal.TypeReply, replyData(e))
}

func (r *recorder) summary(e agent.Event) error {
	r.logged.summary(e)
	return r.answered(e, journal.TypeSummary, journal.SummaryData{Step: e.Step, Digest: e.Digest, Reply: replyData(e)})
}

func replyData(e agent.Event) journal.ReplyData {
	res := e.Response
	return journal.ReplyData{
		Step: e.Step, Cost: res.Cost, Usage: res.Usage, Model: res.Model,
		Seconds: e.Latency.Seconds(), Waited: res.Waited.Seconds(), Limited: new(res.RateLimited.Seconds()),
		Message: rawMessage(res.Message), FinishReason: res.FinishReason, Priced: res.Priced,
		Response: e.Answer,
	}
}

// answered settles the cost of a call and records its answer.
func (r *recorder) answered(e agent.Event, typ string, data any) error {
	res := e.Response
	r.asked = 0
	if err := r.lost(e.Step, res.Lost); err != nil {
		return err
	}
	r.call.Settle(res.Cost)
	if err := r.flushed(typ, data); err != nil || res.Priced {
		return err
	}
	return r.unpriced(e)
}

// unpriced refuses a reply whose cost is not known under a total cost limit; without one,
// it warns once that the cost is counted as nothing.
func (r *recorder) unpriced(e agent.Event) error {
	why, hint := "no price is known", "give its price with -c model.litellm_model_registry=prices.json, or "
	if u := e.Response.Usage; u.Input+u.Output == 0 {
		why, hint = "did not say how many tokens it used", ""
	}
	why = "the provider did not say what the reply of model " + r.ModelName + " costs, and " + why
	if r.call.Limited() {
		return fault.Newf(fault.Host, "%s: the total cost limit cannot be enforced", why).WithHint("%sleave out --cost-limit-total", hint)
	}
	if !r.free {
		r.free = true
		for _, log := range []*slog.Logger{r.log, r.Log} {
			log.Warn(why+": such replies count as free", "instance", r.in.ID, "step", e.Step)
		}
	}
	return nil
}

// refused settles a call that the provider refused; another one may follow.
func (r *recorder) refused(e agent.Event) error {
	r.asked = 0
	r.log.Warn("the provider refused a call because the conversation is too long", "step", e.Step, "err", e.Err)
	err := r.lost(e.Step, llm.Lost(e.Err))
	r.call.Release()
	return err
}

// rewrite is durable with the request that follows.
func (r *recorder) rewrite(e agent.Event) error {
	w := e.Rewritten
	replaced := 0
	data := journal.RewriteData{Step: e.Step, Policy: w.Policy, Refused: w.Refused, Before: w.Before, After: w.After, Summary: w.Summary}
	for _, edit := range w.Edits {
		replaced += edit.To - edit.From
		data.Edits = append(data.Edits, journal.Edit{From: edit.From, To: edit.To, Messages: rawMessages(edit.Messages)})
	}
	r.log.Info("the conversation was rewritten", "step", e.Step, "policy", w.Policy, "messages", replaced, "tokens", w.Before, "tokens_now", w.After)
	return r.append(journal.TypeRewrite, data)
}

// warnedAt is how full the model's context is, in percent, when the attempt warns of it.
const warnedAt = 80

// warnOfLength warns once, before a conversation is too long.
func (r *recorder) warnOfLength(e agent.Event) {
	full := percentOf(e)
	if full < warnedAt || r.long {
		return
	}
	r.long = true
	for _, log := range []*slog.Logger{r.log, r.Log} {
		log.Warn("the model's context is nearly full", "instance", r.in.ID, "step", e.Step, "percent", full,
			"tokens", e.Response.Usage.Input+e.Response.Usage.Output, "window", e.Window)
	}
}

// percentOf is how full the model's context is after a reply; 0 if that is not known.
func percentOf(e agent.Event) int64 {
	u := e.Response.Usage
	if e.Window <= 0 || u.Input <= 0 {
		return 0
	}
	return 100 * (u.Input + u.Output) / e.Window
}

// lost records calls that were not answered and may have been charged.
func (r *recorder) lost(step, calls int) error {
	dollars := r.call.Lose(calls)
	if dollars == 0 {
		return nil
	}
	r.log.Warn("calls were not answered and may have been charged: they count as spent", "step", step, "calls", calls, "cost", dollars)
	return r.flushed(journal.TypeLost, journal.LostData{Step: step, Calls: calls, Cost: dollars})
}

const (
	// keptOutputs is how many bytes of outputs the journal keeps of an attempt. After
	// that, only the first and the last keptEnds bytes of each output are kept. The
	// model still sees the whole output, and a submission is kept whole.
	keptOutputs = 64 << 20
	keptEnds    = 32 << 10
)

func (r *recorder) output(e agent.Event) error {
	o := e.Output
	r.logged.output(e)
	data := journal.OutputData{
		Step: e.Step, Action: e.Action, Output: *o, Timeout: o.Timeout.Seconds(), Seconds: o.Duration.Seconds(),
		SHA256: sum(o.Bytes), Kept: o.Bytes,
	}
	if r.kept+int64(len(o.Bytes)) > keptOutputs && len(o.Bytes) > 2*keptEnds && e.Shown != "" {
		data.Kept = slices.Concat(o.Bytes[:keptEnds], o.Bytes[len(o.Bytes)-keptEnds:])
		data.Shown = e.Shown
		r.log.Warn("the outputs of this attempt exceed the journal's limit: only the beginning and the end of this one are kept",
			"step", e.Step, "bytes", o.Total, "kept", len(data.Kept))
	}
	r.kept += int64(len(data.Kept))
	return r.flushed(journal.TypeOutput, data)
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func (r *recorder) append(typ string, data any) error {
	defer r.watch.during(&r.watch.spent.Save)()
	return r.journal.Append(typ, data)
}

func (r *recorder) flushed(typ string, data any) error {
	defer r.watch.during(&r.watch.spent.Save)()
	if err := r.append(typ, data); err != nil {
		return err
	}
	return r.journal.Flush()
}

func (r *recorder) durable(typ string, data any) error {
	defer r.watch.during(&r.watch.spent.Save)()
	if err := r.append(typ, data); err != nil {
		return err
	}
	return r.journal.Sync()
}
