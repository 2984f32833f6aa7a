package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Program is an agent of its own, which leads the conversation of a run in place of the Loop: it asks the
// model by itself and runs what the model wants. The run makes its calls, within its limits, and records
// them: an answered call of the main conversation is a step.
//
// A run calls one method at a time.
type Program interface {
	// Start starts the program with the task in words, or finds it running.
	Start(ctx context.Context, task string) error
	// Next waits for the program's next call. A [ProgramEnd] is how it ended, another error a fault or the
	// cause of ctx.
	Next(ctx context.Context) (*ProgramCall, error)
}

// ProgramCall is a call that a program wants to make. The run calls End once.
type ProgramCall struct {
	Messages []llm.Message // the whole conversation, system text first
	Tools    int64         // estimated tokens of its tools, and of what is not in Messages
	Helper   bool          // it is not of the main conversation: paid, and no step
	Relay    *llm.Relay

	Output int64       // tokens that the answer may have; 0: the request does not say
	Lower  func(int64) // sets a lower limit of them in the Relay
	Begun  func() bool // whether the program may have read a part of the answer: then no other try is made
	End    func(error) // nil: the answer was passed on
}

// ProgramEnd is the end of a program, as the error of [Program.Next].
type ProgramEnd struct {
	Patch  []byte // what it changed
	Failed string // why it ended badly; empty: it ended well
}

// Error implements error.
func (e *ProgramEnd) Error() string { return cmp.Or(e.Failed, "the program ended") }

// beginProgram starts the turn's program. A reply that was paid and not yet added, since its process was
// killed, is the program's too.
func (r *run) beginProgram(ctx context.Context) error {
	if u := r.turn.Unfinished; u != nil {
		r.turn.Unfinished = nil
		r.pay(u.Reply)
		if err := r.append(ctx, r.replyWith(u.Reply, actionsOf(u.Reply.Message))); err != nil {
			return err
		}
	}
	task, err := r.loop.instance.Render(r.vars(nil)...)
	if err != nil {
		return err
	}
	if err := r.await(ctx); err != nil {
		return err
	}
	return r.turn.Program.Start(ctx, task)
}

// drive serves the program's next call.
func (r *run) drive(ctx context.Context) (err error) {
	call, err := r.next(ctx)
	if err != nil {
		return err
	}
	call.Helper = call.Helper || r.another(call.Messages)
	var refused error
	defer func() { call.End(cmp.Or(refused, err)) }()
	if err = r.withinLimits(ctx); err == nil {
		err = r.affords(call)
	}
	if err == nil {
		refused, err = r.serve(ctx, call)
	}
	return err
}

const (
	// leastOutput is how many tokens an answer is left at least when a limit of the cost makes it shorter: with
	// fewer, an agent cannot work.
	leastOutput = 4096
	// assumedOutput is how many tokens an answer may have where the request does not say.
	assumedOutput = 32_000
	// helpersPerStep is how many calls beside the conversation are made for each step of the limit.
	helpersPerStep = 3
)

// affords keeps a call within the attempt's limit of the cost, before it is made: its input costs at most what
// nothing of it in the cache costs, and its answer what all of its tokens cost. If only the answer is too
// long for that, its limit is lowered.
func (r *run) affords(call *ProgramCall) error {
	l := r.limits()
	if call.Helper && l.Steps > 0 && r.helpers >= helpersPerStep*l.Steps {
		return exit(vocab.StatusLimitsExceeded)
	}
	if l.Cost <= 0 || r.turn.Price == nil {
		return nil
	}
	tokens := call.Tools
	for _, m := range call.Messages {
		tokens += EstimateTokens(m)
	}
	rates := r.turn.Price.At(tokens)
	left := l.Cost - (r.end.Cost - r.turn.Earlier.Cost) - float64(tokens)*max(rates.Input, rates.CacheWrite, rates.CacheHour)
	output := cmp.Or(call.Output, assumedOutput)
	most := output
	if rates.Output > 0 {
		most = int64(left / rates.Output)
	}
	switch {
	case left < 0 || most < min(output, leastOutput):
		return exit(vocab.StatusLimitsExceeded)
	case most < output:
		call.Lower(most)
	}
	return nil
}

// next waits for the program's next call or its end, at most until its time is over.
func (r *run) next(ctx context.Context) (*ProgramCall, error) {
	within := ctx
	if limit := r.limits().Time; limit > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeoutCause(ctx, max(0, limit-r.elapsed()), exit(vocab.StatusTimeExceeded))
		defer cancel()
	}
	start := r.loop.config.Now()
	call, err := r.turn.Program.Next(within)
	r.end.CommandTime += r.loop.config.Now().Sub(start)
	end, ended := errors.AsType[*ProgramEnd](err)
	switch {
	case !ended:
		return call, err
	case end.Failed == "":
		return nil, r.submitted(append([]byte{}, end.Patch...))
	}
	if r.end.Calls == 0 {
		return nil, fault.Newf(fault.Transient, "the agent's program ended before a call of its conversation was answered: %s", end.Failed)
	}
	return nil, r.refused(vocab.StatusProgramFailed, end)
}

// serve makes a call. Refused is the provider's refusal of what the program asks for, which does not end the
// run: the program may ask for something else.
func (r *run) serve(ctx context.Context, call *ProgramCall) (refused, err error) {
	r.relayed = call
	defer func() { r.relayed = nil }()
	if call.Helper {
		r.helpers++
		err = r.probe(ctx, call.Messages)
		return r.forProgram(ctx, err)
	}
	if err := r.follow(ctx, call.Messages); err != nil {
		return nil, err
	}
	resp, err := r.call(ctx, r.end.Calls+1)
	if err != nil {
		return r.forProgram(ctx, err)
	}
	return nil, r.append(ctx, r.replyWith(resp, actionsOf(resp.Message)))
}

// actionsOf returns what a reply asks a program to do. A tool whose arguments have a command is a shell.
func actionsOf(m llm.Message) []Action {
	list := []Action{}
	for _, c := range m.ToolCalls() {
		var args map[string]any
		_ = json.Unmarshal([]byte(c.Arguments), &args) // the program judges them
		if command, ok := args["command"].(string); ok {
			list = append(list, Action{Command: command, CallID: c.ID})
		} else {
			list = append(list, Action{Tool: c.Name, Arguments: args, CallID: c.ID})
		}
	}
	return list
}

// forProgram separates a refusal that the program may read from a failure that ends the run.
func (r *run) forProgram(ctx context.Context, err error) (refused, failed error) {
	if fault.KindOf(err) != fault.Instance || ctx.Err() != nil || errors.Is(err, llm.ErrAccountLimit) {
		return nil, err
	}
	return err, r.record(ctx, Event{Type: EventRefused, Step: r.end.Calls + 1, Err: err})
}

// another reports whether messages are a conversation beside the run's, such as that of an agent which the
// program has started: both its system text and its task are other ones. A program that begins its own
// conversation anew, with a summary, keeps the system text.
func (r *run) another(messages []llm.Message) bool {
	if len(r.sent) == 0 {
		return false
	}
	for _, role := range []string{llm.RoleSystem, llm.RoleUser} {
		if firstOf(role, messages) == firstOf(role, r.sent) {
			return false
		}
	}
	return true
}

// firstOf returns the text of the first message of a role; empty if there is none.
func firstOf(role string, messages []llm.Message) string {
	for _, m := range messages {
		if m.Role == role {
			return strings.TrimSpace(m.Text())
		}
	}
	return ""
}

// follow makes the conversation the one that the program sends: usually it has grown. What the program has
// changed in it, such as after a summary of its own or by a reminder in an old message, is a rewriting.
func (r *run) follow(ctx context.Context, messages []llm.Message) error {
	edits, fresh := changes(r.sent, messages)
	if len(edits) == 0 {
		return r.append(ctx, fresh...)
	}
	w := Rewriting{Policy: "program", Edits: edits}
	sent := edited(r.sent, edits)
	before := r.gauge
	after := newGauge(r.form.tools)
	for _, m := range sent {
		after.add(m)
	}
	err := r.record(ctx, Event{Type: EventRewrite, Step: r.end.Calls + 1, Rewritten: &Rewritten{w, before.tokens, after.tokens, false}})
	if err != nil {
		return err
	}
	r.resend(sent)
	return r.append(ctx, fresh...)
}

// changes returns what is other in messages than in what was sent, and what follows after it.
func changes(sent, messages []llm.Message) (edits []Edit, fresh []llm.Message) {
	if len(messages) < len(sent) { // begun anew
		same := 0
		for same < len(messages) && sameWords(messages[same], sent[same]) {
			same++
		}
		return []Edit{{From: same, To: len(sent), Messages: slices.Clone(messages[same:])}}, nil
	}
	for i := range sent {
		switch last := len(edits) - 1; {
		case sameWords(messages[i], sent[i]):
		case last >= 0 && edits[last].To == i:
			edits[last].To, edits[last].Messages = i+1, append(edits[last].Messages, messages[i])
		default:
			edits = append(edits, Edit{From: i, To: i + 1, Messages: []llm.Message{messages[i]}})
		}
	}
	return edits, slices.Clone(messages[len(sent):])
}

// sameWords reports whether two messages say the same, whatever else belongs to them: a program sends a reply
// back without some of its members, or in another spelling.
func sameWords(a, b llm.Message) bool {
	if a.Role != b.Role || strings.TrimSpace(a.Text()) != strings.TrimSpace(b.Text()) || a.ToolCallID() != b.ToolCallID() {
		return false
	}
	return slices.EqualFunc(a.ToolCalls(), b.ToolCalls(), func(a, b llm.ToolCall) bool { return a.ID == b.ID && a.Name == b.Name })
}

// tryRelay refuses another try of a call whose answer the program has begun to read.
func (r *run) tryRelay() error {
	if r.relayed == nil || !r.relayed.Begun() {
		return nil
	}
	return fault.Newf(fault.Instance, "the answer broke after its beginning, which the program has read")
}
