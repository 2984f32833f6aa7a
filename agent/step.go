package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

func (r *run) step(ctx context.Context) error {
	if r.turn.Program != nil {
		return r.drive(ctx)
	}
	actions, err := r.query(ctx)
	if err != nil {
		return err
	}
	return r.execute(ctx, actions)
}

// query gets one reply and appends it.
func (r *run) query(ctx context.Context) ([]action, error) {
	resp, err := r.answer(ctx)
	if err != nil {
		return nil, err
	}
	if resp.End() == llm.EndFiltered && len(r.known) == 0 { // an earlier version may have executed it
		return nil, r.filtered(resp)
	}
	if r.finishes(resp) {
		r.formatErrors = 0
		if err := r.append(ctx, r.reply(resp, nil)); err != nil {
			return nil, err
		}
		if r.say != "" {
			return nil, r.interjection()
		}
		return nil, exit(vocab.StatusAnswered)
	}
	actions, err := r.form.parse(resp.Message)
	if err == nil && !own(resp) && len(r.known) == 0 {
		err = r.form.cut(resp.FinishReason, actions)
	}
	if err != nil {
		return nil, r.refuse(resp, err)
	}
	r.formatErrors = 0
	return actions, r.append(ctx, r.reply(resp, actions))
}

// finishes reports whether a reply ends the run because it calls no tool.
func (r *run) finishes(resp *llm.Response) bool {
	m := &resp.Message
	return r.loop.config.FinishWithoutCalls && len(m.ToolCalls()) == 0 && strings.TrimSpace(m.Text()) != "" &&
		own(resp) && resp.FinishReason != "tool_calls" // otherwise a call is missing
}

// own reports whether the model itself ended the reply. Models that give reasons of their own are
// trusted: package endpoint refuses those of a provider.
func own(resp *llm.Response) bool {
	return resp.End() == llm.EndWhole || resp.End() == llm.EndUnknown
}

// answer makes one call, or takes the reply of an unfinished step. The reply is counted
// and paid even if it is not usable.
func (r *run) answer(ctx context.Context) (*llm.Response, error) {
	step := r.end.Calls + 1
	if u := r.turn.Unfinished; u != nil {
		r.turn.Unfinished, r.known, r.begun = nil, u.Outputs, u.Begun
		r.pay(u.Reply)
		return r.identified(u.Reply, step), ctx.Err()
	}
	if r.say != "" {
		return nil, r.interjection()
	}
	if err := r.withinLimits(ctx); err != nil {
		return nil, err
	}
	if _, err := r.rewrite(ctx, false); err != nil {
		return nil, r.refusal(err)
	}
	resp, err := r.call(ctx, step)
	if r.mayFit(err) {
		shorter, failed := r.rewrite(ctx, true)
		if failed != nil {
			return nil, r.refusal(failed)
		}
		if shorter {
			resp, err = r.call(ctx, step)
		}
	}
	if err != nil {
		return nil, r.refusal(err)
	}
	return resp, nil
}

// call makes the call of a step.
func (r *run) call(ctx context.Context, step int) (*llm.Response, error) {
	if err := r.mayCall(ctx); err != nil {
		return nil, err
	}
	if err := r.record(ctx, Event{Type: EventRequest, Step: step, Digest: r.digest.String(), Tokens: r.gauge.tokens}); err != nil {
		return nil, err
	}
	resp, latency, err := r.generate(ctx, r.request(ctx, step))
	if err != nil && r.relayed != nil { // the program reads it, and decides what to do
		r.waitedFor(llm.Waited(err))
		return nil, err
	}
	if err != nil {
		return nil, r.shown(ctx, step, r.explained(ctx, step, r.failed(ctx, step, err)))
	}
	resp = r.identified(resp, step)
	r.pay(resp)
	return resp, r.record(ctx, Event{Type: EventReply, Response: resp, Answer: rawAnswer(resp), Latency: latency})
}

// generate asks the model. What admit waited before further tries is part of the waits that the
// answer or the error reports, so it is not counted here.
func (r *run) generate(ctx context.Context, req *llm.Request) (resp *llm.Response, latency time.Duration, err error) {
	start, before := r.loop.config.Now(), r.waited
	resp, err = r.turn.Model.Generate(ctx, req)
	latency = r.loop.config.Now().Sub(start)
	r.end.ModelTime += latency
	r.waited = before
	if err != nil {
		waited, _ := llm.Waited(err)
		r.waited += max(0, latency-waited) // as a resumed run counts it
	}
	return resp, latency, err
}

func (r *run) request(ctx context.Context, step int) *llm.Request {
	req := &llm.Request{Messages: r.wire, Tools: r.form.tools, Memo: &r.memo, Tokens: r.gauge.tokens}
	req.Repeating = func(next llm.Repeat) { // an error does not end the call
		_ = r.record(ctx, Event{Type: EventRepeat, Step: step, Repeat: &next})
	}
	if r.relayed != nil {
		req.Relay = r.relayed.Relay
	}
	req.Trying = func() error {
		if err := r.tryRelay(); err != nil {
			return err
		}
		if r.turn.Admit != nil {
			if err := r.admit(); err != nil {
				return err
			}
		}
		return r.record(ctx, Event{Type: EventTry, Step: step})
	}
	return req
}

func (r *run) waitedFor(all, limited time.Duration) {
	r.end.RateWait += limited
	r.end.Backoff += all - limited
}

// mayCall checks the limits and reserves money for a call.
func (r *run) mayCall(ctx context.Context) error {
	if err := r.withinLimits(ctx); err != nil || r.turn.Admit == nil {
		return err
	}
	return r.admit()
}

// admit asks whether a call may be made. A wait for that is not the agent's time.
func (r *run) admit() error {
	start := r.loop.config.Now()
	defer func() { r.waited += r.loop.config.Now().Sub(start) }()
	return r.turn.Admit()
}

// limits returns the limits that apply now.
func (r *run) limits() vocab.Limits {
	l := r.loop.config.Limits
	if r.turn.Limits != nil {
		l = r.turn.Limits(l)
	}
	return l
}

// withinLimits checks cancellation, and the limits in mini-swe-agent's order.
func (r *run) withinLimits(ctx context.Context) error {
	l := r.limits()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case 0 < l.Steps && l.Steps <= r.end.Calls-r.turn.Earlier.Calls,
		0 < l.Cost && (l.Cost <= r.end.Cost-r.turn.Earlier.Cost || r.turn.Earlier.Unpriced < r.end.Unpriced && !r.turn.Uncounted):
		return exit(vocab.StatusLimitsExceeded)
	case 0 < l.Time && l.Time <= r.elapsed():
		return exit(vocab.StatusTimeExceeded)
	}
	return nil
}

func (r *run) pay(resp *llm.Response) {
	r.end.Calls++
	r.spend(resp)
	r.gauge.answered(resp)
	if resp.Model != "" {
		r.end.ModelID = resp.Model
	}
}

// spend counts the cost of an answer.
func (r *run) spend(resp *llm.Response) {
	r.end.Cost += resp.Cost
	if !resp.Priced {
		r.end.Unpriced++
	}
	r.end.Usage = r.end.Usage.Add(resp.Usage)
	r.waitedFor(resp.Waited, resp.RateLimited)
}

// reply returns the assistant's message with its extra data.
func (r *run) reply(resp *llm.Response, actions []action) llm.Message {
	records := make([]Action, len(actions))
	for i, a := range actions {
		records[i] = a.record()
	}
	return r.replyWith(resp, records)
}

func (r *run) replyWith(resp *llm.Response, records []Action) llm.Message {
	m := resp.Message
	m.Role = llm.RoleAssistant
	m.Extra = map[string]any{"actions": records, "cost": resp.Cost, "response": ReplyRef{r.end.Calls}}
	return m
}

// refuse returns the interrupt for a reply that does not have the required form. As in
// mini-swe-agent, the reply is not added to the conversation; it is kept with the answer
// to it.
func (r *run) refuse(resp *llm.Response, err error) error {
	bad, ok := errors.AsType[*badForm](err)
	if !ok {
		return err
	}
	content, err := r.loop.formatError.Render(r.vars(map[string]any{
		"error":          strings.TrimSpace(bad.problem),
		"actions":        append([]string{}, bad.actions...),
		"finish_reason":  resp.FinishReason,
		"has_tool_calls": len(resp.Message.ToolCalls()) > 0,
	})...)
	if err != nil {
		return err
	}
	extra := map[string]any{"interrupt_type": string(vocab.StatusFormatError), "cost": resp.Cost, "response": ReplyRef{r.end.Calls}}
	if bad.text {
		extra["n_actions"] = len(bad.actions)
		extra["model_response"] = resp.Message.Text()
	}
	return &Interrupt{vocab.StatusFormatError, []llm.Message{{Role: llm.RoleUser, Parts: llm.Say(content), Extra: extra}}}
}

// answerUsage is a usage as an answer has it: missing fields are left out.
type answerUsage struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"cached_tokens,omitempty"`
	CacheWrite int64 `json:"cache_write_tokens,omitempty"`
	CacheHour  int64 `json:"cache_write_1h_tokens,omitempty"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"reasoning_tokens,omitempty"`
}

// rawAnswer returns the provider's answer unchanged if it is there; otherwise its known parts.
func rawAnswer(resp *llm.Response) json.RawMessage {
	if fits(resp.Raw) {
		return resp.Raw
	}
	known, err := json.Marshal(map[string]any{
		"model": resp.Model,
		"choices": []any{map[string]any{
			"finish_reason": resp.FinishReason,
			"message":       llm.Message{Role: llm.RoleAssistant, Parts: resp.Message.Parts, Chat: resp.Message.Chat},
		}},
		"usage": answerUsage(resp.Usage),
	})
	if err != nil || !fits(known) {
		return nil // the message's own JSON is broken, or too deep
	}
	return known
}

// fits reports whether text is JSON that can still be read inside a record or a
// trajectory: readers limit the depth.
func fits(text []byte) bool {
	const (
		around = 8    // levels, more than there are
		deep   = 1000 // levels, far fewer than readers allow
	)
	return json.Valid(text) && (bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) < deep ||
		json.Valid(slices.Concat(bytes.Repeat([]byte("["), around), text, bytes.Repeat([]byte("]"), around))))
}

// execute runs a reply's actions in order and appends what they did. Read-only ones beside
// each other run at the same time: see readAhead.
func (r *run) execute(ctx context.Context, actions []action) error {
	var observations []llm.Message
	for i := range actions {
		r.readAhead(ctx, actions[i:])
		a := actions[i]
		a.number = i + 1
		if a.tool.Asks {
			return r.asks(observations, actions[i:])
		}
		m, out, err := r.act(ctx, a, observations)
		if no, ok := errors.AsType[*unapproved](err); ok {
			return r.skip(no.stop, no.begun, observations, actions[i:])
		}
		if err != nil {
			if stop, ok := errors.AsType[*Interrupt](err); ok {
				stop.Messages = append(observations, stop.Messages...)
				return stop
			}
			// Keep what ran. If that fails too, still report the first error.
			_ = r.append(context.WithoutCancel(ctx), observations...)
			return err
		}
		observations = append(observations, m)
		if out.TimedOut {
			// The model decides again before anything else runs.
			return r.skip(&Interrupt{Name: vocab.StatusExecutionTimeout}, false, observations, actions[i+1:])
		}
	}
	return r.append(ctx, observations...)
}

// act runs an action, or takes its known output, and returns the message that shows it to
// the model after those of the reply's earlier ones. A submission is an interrupt.
func (r *run) act(ctx context.Context, a action, earlier []llm.Message) (m llm.Message, out vocab.Output, err error) {
	if err := ctx.Err(); err != nil {
		return m, out, err
	}
	known := len(r.known) > 0
	if known {
		out, r.known = r.known[0], r.known[1:]
	} else if out, err = r.command(ctx, a); err != nil {
		return m, out, err
	}
	patch, submits := submission(out)
	if submits = submits && a.tool.Submits && !capped(out) && r.say == ""; !submits {
		m, err = r.observe(a, out, earlier...)
	}
	if !known {
		shown := m.Text()
		if len(slices.Collect(imagesIn([]llm.Message{m}))) > 0 {
			shown = ""
		}
		err = cmp.Or(r.record(ctx, Event{Type: EventOutput, Action: a.number, Output: &out, Shown: shown}), err)
	}
	if err == nil && submits {
		err = r.submitted(patch)
	}
	return m, out, err
}

func (r *run) command(ctx context.Context, a action) (vocab.Output, error) {
	if a.early != nil && a.early.refused != nil {
		return vocab.Output{}, a.early.refused
	}
	if a.early == nil {
		if err := r.approve(ctx, a); err != nil {
			return vocab.Output{}, err
		}
		if err := r.await(ctx); err != nil {
			return vocab.Output{}, err
		}
	}
	began := Event{Type: EventAction, Action: a.number, Tool: a.tool.Name, CallID: a.id, Command: a.Command}
	if a.Command == "" {
		began.Arguments = a.Arguments
	}
	if err := r.record(ctx, began); err != nil {
		return vocab.Output{}, err
	}
	if a.early != nil {
		return a.early.out, r.destroyed(a.early.err)
	}
	start := r.loop.config.Now()
	out, err := a.execute(ctx, r.turn.Env)
	r.end.CommandTime += r.loop.config.Now().Sub(start)
	return out, r.destroyed(err)
}

// unapproved is the interrupt of a person or a rule that rejected an action.
type unapproved struct {
	stop  *Interrupt
	begun bool // the action had begun before
}

func (u *unapproved) Error() string { return u.stop.Error() }

// interjection takes the words that wait and returns an interrupt with them.
func (r *run) interjection() *Interrupt {
	words := r.say
	r.say = ""
	return Interrupted(words)
}

// approve checks whether an action may run.
func (r *run) approve(ctx context.Context, a action) error {
	ask, begun := r.turn.Approve, r.begun
	r.begun = false
	switch {
	case begun && r.turn.Begun != nil:
		ask = r.turn.Begun
	case r.say != "":
		return &unapproved{r.interjection(), begun}
	case ask == nil:
		return nil
	}
	start := r.loop.config.Now()
	err := ask(ctx, a.tool.Name, a.Call)
	r.waited += r.loop.config.Now().Sub(start) // a person's time is not the agent's
	if stop, ok := errors.AsType[*Interrupt](err); ok {
		return &unapproved{stop, begun}
	}
	return err
}

// await waits until the environment is ready for an action.
func (r *run) await(ctx context.Context) error {
	if r.turn.Ready == nil {
		return nil
	}
	start := r.loop.config.Now()
	err := r.turn.Ready(ctx)
	r.waited += r.loop.config.Now().Sub(start)
	return err
}

// skip returns stop with other messages before its own: the observations of the actions
// that ran, and answers to the rest, which do not run. The first of the rest may have begun
// before.
func (r *run) skip(stop *Interrupt, begun bool, observations []llm.Message, rest []action) error {
	for i, a := range rest {
		out := notExecuted()
		if begun && i == 0 {
			out.Note = cutOff
		}
		m, err := r.observe(action{id: a.id}, out)
		if err != nil {
			return err
		}
		observations = append(observations, m)
	}
	return &Interrupt{stop.Name, append(observations, stop.Messages...)}
}
