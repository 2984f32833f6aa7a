package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Reservation is the money reserved for one call. [*runner.Reservation] implements it.
type Reservation interface {
	Reserved() float64      // US dollars that the call may cost; 0 if unknown
	Expect(dollars float64) // what the call may cost; 0 if unknown
	Limited() bool          // whether there is a limit
	Settle(dollars float64) // the call was answered, and cost so much
	Lose(calls int) float64 // calls were not answered and may have been charged; returns the dollars that are counted for them
	Release()               // the call was not made, or cost nothing; after Settle it does nothing
}

// unlimited is a Reservation without a limit.
type unlimited struct{}

func (unlimited) Reserved() float64 { return 0 }
func (unlimited) Expect(float64)    {}
func (unlimited) Limited() bool     { return false }
func (unlimited) Settle(float64)    {}
func (unlimited) Lose(int) float64  { return 0 }
func (unlimited) Release()          {}

// recorder writes the agent's events to the store, and settles the cost of calls. It
// implements [agent.Recorder].
type recorder struct {
	store  Store
	log    *slog.Logger
	saving func() (done func()) // measures the time spent on records
	model  string               // its name, for people

	call    Reservation // of the current or the last try of a call
	asked   int         // step of a recorded try that may have been made and has no answer yet; 0 if none
	counted int         // tries of the call that were recorded as lost
	likely  expectation // of what a call may cost
	kept    int64       // bytes of the outputs in the journal
	action  string      // id of the action that was recorded last
	over    error       // why neither a call nor an action may follow
}

// Record implements [agent.Recorder]. A request is durable before it is sent and an
// action before it runs, each with every earlier event. Replies and outputs survive
// the end of this process at once; they become durable with the next request or action.
func (r *recorder) Record(_ context.Context, e agent.Event) error {
	switch e.Type {
	case agent.EventRequest, agent.EventProbe, agent.EventTry, agent.EventAction:
		if r.over != nil {
			return r.over
		}
	}
	switch e.Type {
	case agent.EventMessages:
		defer r.saving()()
		return r.store.Append(journal.TypeMessages, journal.MessagesData{Messages: rawMessages(e.Messages)})
	case agent.EventRewrite: // durable with the request that follows
		return r.append(journal.TypeRewrite, rewriteData(e))
	case agent.EventRequest:
		return r.request(journal.TypeRequest, e)
	case agent.EventProbe:
		return r.request(journal.TypeSummaryRequest, e)
	case agent.EventRepeat:
		return r.repeating(e)
	case agent.EventTry:
		return r.try(e)
	case agent.EventReply:
		return r.answered(e, journal.TypeReply, replyData(e))
	case agent.EventProbed:
		return r.answered(e, journal.TypeSummary, journal.SummaryData{Step: e.Step, Digest: e.Digest, Reply: replyData(e)})
	case agent.EventRefused:
		return r.refused(e)
	case agent.EventFailed:
		return r.failed(e)
	case agent.EventAction:
		r.action = ActionID(e.Step, e.Action)
		data := journal.ActionData{Step: e.Step, Action: e.Action, Command: e.Command}
		if e.Command == "" {
			data.Tool = e.Tool
		}
		return r.durable(journal.TypeAction, data)
	case agent.EventOutput:
		return r.output(e)
	case agent.EventInterrupt:
		return r.append(journal.TypeInterrupt, journal.InterruptData{Step: e.Step, Name: e.Interrupt})
	default:
		return nil
	}
}

// ActionID names an action in its attempt's environments. It is the same in a resumed run,
// so that an action that was running when a process died does not run twice.
func ActionID(step, action int) string { return fmt.Sprintf("%d.%d", step, action) }

// request records a call that is about to be made.
func (r *recorder) request(typ string, e agent.Event) error {
	r.likely.tokens = e.Tokens
	r.call.Expect(r.likely.dollars())
	err := r.durable(typ, journal.RequestData{Step: e.Step, Digest: e.Digest, Tokens: e.Tokens, Beside: e.Beside, Reserved: r.call.Reserved()})
	if err == nil {
		r.asked, r.counted = e.Step, 0
	}
	return err
}

// try records another try of a call that is about to be made.
func (r *recorder) try(e agent.Event) error {
	r.call.Expect(r.likely.dollars())
	err := r.durable(journal.TypeTry, journal.TryData{Step: e.Step, Reserved: r.call.Reserved()})
	if err == nil {
		r.asked = e.Step
	}
	return err
}

// repeating settles a try that failed, before the wait for the next one.
func (r *recorder) repeating(e agent.Event) error {
	lost := 1
	if e.Repeat.Unpaid {
		lost = 0
	}
	return r.settle(e.Step, r.counted+lost)
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
	r.likely.answered(res.Usage, res.Cost)
	if err := r.lost(e.Step, res.Lost-r.counted); err != nil {
		return err
	}
	if res.Priced {
		r.call.Settle(res.Cost)
	} else { // the reserved money counts
		r.call.Lose(1)
		r.call.Release()
	}
	if err := r.flushed(typ, data); err != nil || res.Priced || !r.call.Limited() {
		return err
	}
	why, hint := Unpriced(r.model, res)
	r.over = fault.Newf(fault.Host, "%s: the total cost limit cannot be enforced", why).WithHint("%sleave out --cost-limit-total", hint)
	return nil // the reply is on record, so listeners hear it
}

// Unpriced says why the cost of a model's reply is unknown. The hint is the beginning of
// advice for a person.
func Unpriced(model string, resp *llm.Response) (why, hint string) {
	why, hint = "no price is known", "give its price with -c model.litellm_model_registry=prices.json, or "
	if u := resp.Usage; u.Input+u.Output == 0 {
		why, hint = "did not say how many tokens it used", ""
	}
	return "the provider did not say what the reply of model " + model + " costs, and " + why, hint
}

// refused settles a call that the provider refused; another one may follow.
func (r *recorder) refused(e agent.Event) error {
	r.log.Warn("the provider refused a call: the conversation may be too long", "step", e.Step, "err", e.Err)
	return r.settle(e.Step, llm.Lost(e.Err))
}

// failed settles a call that failed; another one follows.
func (r *recorder) failed(e agent.Event) error {
	r.log.Warn("a call failed: the model will be shown that", "step", e.Step, "err", e.Err)
	return r.settle(e.Step, llm.Lost(e.Err))
}

// unanswered settles a call that was still open when a run ended: it counts as
// spent unless it is known that nothing was charged.
func (r *recorder) unanswered(err error) error {
	if r.asked == 0 {
		r.call.Release()
		return nil
	}
	lost := llm.Lost(err)
	if errors.Is(err, errPanic) { // it knows nothing of the tries before
		lost += r.counted
	}
	return r.settle(r.asked, lost)
}

// settle settles a try that was not answered. Lost is the number of tries of the call so far
// that may have been charged.
func (r *recorder) settle(step, lost int) error {
	defer r.call.Release()
	open := r.asked != 0
	r.asked = 0
	if lost > r.counted || !open {
		return r.lost(step, lost-r.counted)
	}
	return r.flushed(journal.TypeUnpaid, journal.UnpaidData{Step: step})
}

func rewriteData(e agent.Event) journal.RewriteData {
	w := e.Rewritten
	data := journal.RewriteData{Step: e.Step, Policy: w.Policy, Refused: w.Refused, Before: w.Before, After: w.After}
	for _, edit := range w.Edits {
		data.Edits = append(data.Edits, journal.Edit{From: edit.From, To: edit.To, Messages: rawMessages(edit.Messages)})
	}
	return data
}

// lost records tries that were not answered and may have been charged.
func (r *recorder) lost(step, calls int) error {
	if calls <= 0 {
		return nil
	}
	r.counted += calls
	dollars := r.call.Lose(calls)
	r.log.Warn("calls were not answered and may have been charged: they count as spent", "step", step, "calls", calls, "cost", dollars)
	return r.flushed(journal.TypeLost, journal.LostData{Step: step, Calls: calls, Cost: dollars})
}

const (
	// keptOutputs is the number of bytes of outputs that the journal keeps of an attempt. After
	// that, only the first and the last keptEnds bytes of each output are kept. The
	// model still sees the whole output. A submission is kept whole, and an image that the model is shown.
	keptOutputs = 64 << 20
	keptEnds    = 32 << 10
)

func (r *recorder) output(e agent.Event) error {
	o := e.Output
	data := journal.OutputData{
		Step: e.Step, Action: e.Action, Output: *o, Timeout: o.Timeout.Seconds(), Seconds: o.Duration.Seconds(),
		SHA256: Sum(o.Bytes), Kept: o.Bytes,
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

// Sum is the digest that the journal has of an output: SHA-256 in hexadecimal.
func Sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func (r *recorder) append(typ string, data any) error {
	defer r.saving()()
	return r.store.Append(typ, data)
}

func (r *recorder) flushed(typ string, data any) error {
	defer r.saving()()
	if err := r.store.Append(typ, data); err != nil {
		return err
	}
	return r.store.Flush()
}

func (r *recorder) durable(typ string, data any) error {
	defer r.saving()()
	return durably(r.store, typ, data)
}

// expectation estimates what the next call may cost, from the answers of the same conversation: rather
// too much than too little, since a bill has it for a call of unknown cost.
type expectation struct {
	tokens int64 // of the request, by an estimate; 0: not known

	answers int64
	last    vocab.Usage // of the last answer
	longest int64       // tokens of an answer
	cost    float64     // US dollars of all answers
	parts   float64     // the same, as weighed says
}

// weighed returns the cost of a call in input tokens, at the prices of most models: a token from the cache costs
// a tenth, one that is written to it a quarter more, and one of the answer five times as much. How far
// a model differs shows in the answers that were paid.
func weighed(u vocab.Usage) float64 {
	return float64(u.Input) - 0.9*float64(u.Cached) + 0.25*float64(u.CacheWrite) + 5*float64(u.Output)
}

func (x *expectation) answered(u vocab.Usage, cost float64) {
	if cost <= 0 || u.Input <= 0 {
		return // it teaches nothing
	}
	u.Cached = min(u.Cached, u.Input) // some servers leave it out of the input; the sum of the parts must not come near zero
	x.answers, x.last, x.longest = x.answers+1, u, max(x.longest, u.Output)
	x.cost, x.parts = x.cost+cost, x.parts+weighed(u)
}

// likelyOutput is the assumed length of a first answer, in tokens. What was answered replaces it.
const likelyOutput = 2000

// dollars returns 0 if nothing is known.
func (x *expectation) dollars() float64 {
	if x.answers == 0 || x.tokens <= 0 {
		return 0
	}
	// What the provider has not counted yet is estimated at four bytes per token: it may be three.
	u := vocab.Usage{Input: x.tokens + max(0, x.tokens-x.last.Input-x.last.Output)/3, Output: max(x.longest, likelyOutput/(x.answers+1))}
	if x.last.Cached > 0 && u.Input > x.last.Input { // the conversation was continued: what was sent is in the cache
		u.Cached = x.last.Input
	}
	if x.last.CacheWrite > 0 {
		u.CacheWrite = u.Input - u.Cached
	}
	return weighed(u) * x.cost / x.parts
}
