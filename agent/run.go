package agent

import (
	"context"
	"slices"
	"time"

	"batch.example/batch/agent/template"
	"batch.example/batch/llm"
	"batch.example/batch/llm/picture"
	"batch.example/batch/vocab"
)

// run is the state of one Loop.Run.
type run struct {
	loop     *Loop
	turn     Turn
	form     *form // the loop's, with the turn's tools
	unusable error // of the turn's tools
	started  time.Time
	messages []llm.Message   // all of them
	sent     []llm.Message   // the part of them that is sent
	wire     []llm.Message   // sent, as a provider sees it
	memo     llm.Memo        // the model's own state about them
	fresh    int             // the number of messages before the run
	callIDs  map[string]bool // of the tool calls in sent
	digest   digest
	gauge    gauge // of sent
	end      Ending

	formatErrors int            // in a row
	waited       time.Duration  // for the environment, for a person, and in calls that failed
	helpers      int            // calls of a program beside its conversation
	relayed      *ProgramCall   // the call of a program that is being made; nil: none
	known        []vocab.Output // of the current step's actions that ran before
	begun        bool           // the action after them had begun before
	say          string         // a person's words that wait for the end of an unfinished step
}

func newRun(l *Loop, t Turn) *run {
	form, err := l.form.with(t.Tools)
	if err != nil {
		form = l.form // no request is made
	}
	r := &run{
		loop: l, turn: t, form: form, unusable: err, started: l.config.Now().Add(-t.Elapsed), callIDs: map[string]bool{},
		digest: newDigest(form.tools), gauge: newGauge(form.tools),
	}
	r.end.Calls, r.end.Cost, r.end.Unpriced, r.formatErrors, r.helpers = t.Calls, t.Cost, t.Unpriced, t.FormatErrors, t.Beside
	r.keep(t.Messages...)
	if t.Tokens > 0 {
		r.gauge.tokens = t.Tokens
	}
	r.fresh = len(r.messages)
	return r
}

// begin appends the first messages, or prepares a history to be continued.
func (r *run) begin(ctx context.Context) error {
	if r.unusable != nil {
		return r.unusable
	}
	if r.turn.Program != nil {
		return r.beginProgram(ctx)
	}
	if len(r.sent) > 0 {
		return r.continueRun(ctx)
	}
	first, err := r.firstMessages()
	if err != nil {
		return err
	}
	if r.turn.Say != "" {
		first = append(first, llm.Message{Role: llm.RoleUser, Parts: llm.Say(r.turn.Say)})
	}
	return r.append(ctx, first...)
}

// firstMessages renders the system and the task message.
func (r *run) firstMessages() ([]llm.Message, error) {
	vars := r.vars(nil)
	system, err := r.loop.system.Render(vars...)
	if err != nil {
		return nil, err
	}
	task, err := r.loop.instance.Render(vars...)
	if err != nil {
		return nil, err
	}
	return []llm.Message{{Role: llm.RoleSystem, Parts: llm.Say(system)}, illustrated(task, r.turn.Pictures)}, nil
}

// illustrated returns the task message. Its extra says where its pictures are from, and how they were
// changed; without pictures it has none.
func illustrated(task string, pictures []picture.Picture) llm.Message {
	m := llm.Message{Role: llm.RoleUser, Parts: llm.Say(task)}
	var sources []any
	for _, p := range pictures {
		m.Parts = append(m.Parts, p.Image)
		from := map[string]any{"source": p.Source}
		if p.Changed != "" {
			from["changed"] = p.Changed
		}
		sources = append(sources, from)
	}
	if sources != nil {
		m.Extra = map[string]any{"images": sources}
	}
	return m
}

func (r *run) continueRun(ctx context.Context) error {
	if err := r.answerPending(ctx); err != nil || r.turn.Say == "" {
		return err
	}
	if r.turn.Unfinished != nil {
		r.say = r.turn.Say
		return nil
	}
	return r.append(ctx, llm.Message{Role: llm.RoleUser, Parts: llm.Say(r.turn.Say)})
}

// answerPending answers the actions of the last reply that have no answer yet, because the
// run was interrupted between them or one of them submitted or asked a person. Providers
// refuse tool calls without an answer.
func (r *run) answerPending(ctx context.Context) error {
	last := len(r.sent) - 1
	for last >= 0 && r.sent[last].Role == llm.RoleTool {
		last--
	}
	if last < 0 || r.sent[last].Role != llm.RoleAssistant {
		return nil
	}
	var pending []action
	for _, c := range r.sent[last].ToolCalls() {
		answered := slices.ContainsFunc(r.sent[last+1:], func(m llm.Message) bool { return m.ToolCallID() == c.ID })
		if !answered {
			pending = append(pending, action{id: c.ID})
		}
	}
	if r.form.kind == Text && last == len(r.sent)-1 {
		pending = []action{{}}
	}
	var messages []llm.Message
	for i, a := range pending {
		if i == 0 && r.turn.Say != "" && r.endedBefore(vocab.StatusInputRequired) {
			messages = append(messages, answerOf(a.id, r.turn.Say))
			r.turn.Say = ""
			continue
		}
		out := notExecuted()
		if i == 0 && r.endedBefore(vocab.StatusSubmitted) {
			out = vocab.Output{}
		}
		m, err := r.observe(a, out)
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	return r.append(ctx, messages...)
}

// endedBefore reports whether the history ends with a run that ended so.
func (r *run) endedBefore(status vocab.Status) bool {
	m := r.messages[len(r.messages)-1]
	return m.Role == llm.RoleExit && m.Extra["exit_status"] == string(status)
}

// done reports whether a message of this run has ended it.
func (r *run) done() bool {
	n := len(r.messages)
	return n > r.fresh && r.messages[n-1].Role == llm.RoleExit
}

// append records messages and adds them to the conversation, even if recording them
// failed.
func (r *run) append(ctx context.Context, messages ...llm.Message) error {
	if len(messages) == 0 {
		return nil
	}
	for i := range messages {
		r.stamp(&messages[i])
	}
	err := r.record(ctx, Event{Type: EventMessages, Messages: messages})
	r.keep(messages...)
	return err
}

func (r *run) keep(messages ...llm.Message) {
	r.messages = append(r.messages, messages...)
	for _, m := range messages {
		if m.Role == llm.RoleExit {
			continue
		}
		r.send(m)
	}
}

// send adds a message to the conversation that is sent to the provider.
func (r *run) send(m llm.Message) {
	r.sent, r.wire = append(r.sent, m), alternate(r.wire, m, r.turn.StrictRoles)
	r.digest.add(m)
	r.gauge.add(m)
	for _, c := range m.ToolCalls() {
		r.callIDs[c.ID] = true
	}
}

// stamp adds a timestamp to a message with extra data. As in mini-swe-agent's files, the
// system and the task message have none.
func (r *run) stamp(m *llm.Message) {
	if m.Extra == nil {
		return
	}
	if _, ok := m.Extra["timestamp"]; !ok {
		m.Extra["timestamp"] = float64(r.loop.config.Now().UnixMicro()) / 1e6
	}
}

// record passes an event to the recorder, and then to the listeners.
func (r *run) record(ctx context.Context, e Event) error {
	e.Time, e.Turn, e.Cost, e.Window = r.loop.config.Now(), r.turn.Number, r.end.Cost, r.turn.Window
	if e.Step == 0 {
		e.Step = r.end.Calls
	}
	var err error
	if r.turn.Recorder != nil {
		err = r.turn.Recorder.Record(ctx, e)
	}
	if err != nil && e.Type != EventEnd {
		return err
	}
	for _, listen := range r.turn.Listen {
		listen(e)
	}
	return err
}

// elapsed is the time that the agent has worked, without waits for the provider or the
// environment.
func (r *run) elapsed() time.Duration {
	return r.loop.config.Now().Sub(r.started) - r.end.RateWait - r.end.Backoff - r.waited
}

// vars are the template variables, with own added.
func (r *run) vars(own map[string]any) template.Vars {
	var env map[string]any
	if r.turn.Env != nil {
		env = r.turn.Env.Vars()
	}
	return template.Vars{r.loop.config.Vars, env, {
		"n_model_calls":   r.end.Calls,
		"model_cost":      r.end.Cost,
		"elapsed_seconds": int(r.elapsed() / time.Second),
	}, r.turn.Vars, {"task": r.turn.Task}, own}
}
