package solver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
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
		r.log.Info("the conversation was rewritten", "from", e.From, "to", e.To, "messages", len(e.Messages))
		return r.append(journal.TypeRewrite, journal.RewriteData{From: e.From, To: e.To, Messages: rawMessages(e.Messages)})
	case agent.EventRequest:
		err := r.durable(journal.TypeRequest, journal.RequestData{Step: e.Step, Digest: e.Digest, Reserved: r.call.Reserved()})
		if err == nil {
			r.asked = e.Step
		}
		return err
	case agent.EventReply:
		return r.reply(e)
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

func (r *recorder) reply(e agent.Event) error {
	res := e.Response
	r.asked = 0
	if err := r.lost(e.Step, res.Lost); err != nil {
		return err
	}
	r.call.Settle(res.Cost)
	r.logged.reply(e)
	err := r.flushed(journal.TypeReply, journal.ReplyData{
		Step: e.Step, Cost: res.Cost, Usage: res.Usage, Model: res.Model,
		Seconds: e.Latency.Seconds(), Waited: res.Waited.Seconds(), Limited: new(res.RateLimited.Seconds()),
		Message: rawMessage(res.Message), FinishReason: res.FinishReason, Priced: res.Priced,
		Response: e.Answer,
	})
	if err == nil && !res.Priced && r.call.Limited() {
		return fault.Newf(fault.Host, "the provider did not say what the reply of model %s costs, and no price is known: "+
			"the total cost limit cannot be enforced", r.ModelName).
			WithHint("give its price with -c model.litellm_model_registry=prices.json, or leave out --cost-limit-total")
	}
	return err
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
