package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"batch.example/batch/agent"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/authority"
	"batch.example/batch/llm/picture"
	"batch.example/batch/vocab"
)

// Environment is where a session's actions run.
type Environment interface {
	// Execute runs a command as [agent.Environment] describes. A command with an id that
	// was started before, even by a process that died since, does not run again: Execute
	// waits for it and returns its result. A command with an empty id always runs; several
	// may at the same time.
	Execute(ctx context.Context, id, command string) (vocab.Output, error)
	// Vars implements [agent.Environment].
	Vars() map[string]any
}

// Input is the input of a turn. Model and Env are required.
type Input struct {
	// Words are the person's: the task in the first turn. Without words, an open turn is tried
	// again; if there is none, the agent continues where the last turn ended.
	Words string
	// Task is the task if the first turn has no words, as that of a batch run. Wordless allows such a turn.
	Task     string
	Wordless bool
	Metadata map[string]string // recorded with the turn

	// Vars are template variables. Another one is the task.
	Vars map[string]any

	Pictures []picture.Picture // of Task, with which alone they are shown; see agent.Turn

	// Authority is the authority of this turn; nil: the authority of the process. The turn's
	// context carries it, and nothing stores it.
	Authority *authority.Authority

	Model llm.Model
	agent.ModelFacts
	Env   Environment
	Tools []agent.Tool // in addition to the loop's

	Program agent.Program // see [agent.Turn]; nil: none

	// Hooks of the run. Listen is also told if the conversation is long; it must not use the session.
	agent.Hooks

	Reserve func(context.Context) (Reservation, error) // reserves money for each call; nil: there is no limit

	// Compact makes the conversation shorter before the first call of this turn, however
	// short it is; nil: only Rewrite does. If a turn is tried again after its first call,
	// Compact is not called again.
	Compact func(ctx context.Context, c agent.Conversation) (*agent.Rewriting, error)
}

// Result is the result of a turn.
type Result struct {
	Turn     int
	End      journal.TurnEnd
	Answer   string // the model's last words; partial at a limit
	Question string // that the agent has asked, if input is required
	Error    string // what ended the turn, if it did not end by itself
	Ending   *agent.Ending
}

// Turn is one turn of a session.
type Turn struct {
	s      *Session
	in     Input
	number int
	run    agent.Turn

	known    agent.Spent // that is in the store, of the session so far
	asked    bool        // a call was made in this turn before it was tried again
	messages int         // of the conversation
	warned   bool        // that it is long
}

// Begin prepares a turn and records its beginning. The caller must [Turn.Run] it. If
// no turn can begin now, the error is a Usage fault around [ErrBusy], [ErrNotStarted],
// [ErrNothing] or [ErrSummarized]; for credentials that have expired it is one of the kind
// [fault.Expired]. In these cases nothing is recorded.
func (s *Session) Begin(_ context.Context, in Input) (*Turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.turn != nil:
		return nil, busy("beginning a turn")
	case s.state.Status != Ready:
		return nil, s.notStarted("beginning a turn")
	case s.closed:
		return nil, usage("beginning a turn", ErrSummarized).WithHint("clear the conversation, or begin another")
	}
	if err := in.Authority.Check(s.c.Now()); err != nil {
		return nil, err
	}
	t := &Turn{s: s, in: in}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	s.turn, s.state.Status = t, Busy
	return t, nil
}

// prepare records the beginning of a turn and finds out where it continues. s.mu is held.
func (t *Turn) prepare() (err error) {
	s := t.s
	defer func() { s.unsure = err != nil }()
	if err := s.beginTurn(t); err != nil {
		return err
	}
	h, err := s.c.Store.HistoryHere()
	if err != nil {
		return err
	}
	s.records.asked, s.records.call, s.records.kept = 0, unlimited{}, h.Kept
	s.records.likely = expectation{}
	for _, step := range h.Steps {
		if step.Reply != nil {
			s.records.likely.answered(step.Reply.Usage, step.Reply.Cost)
		}
	}
	in := t.in
	t.run = agent.Turn{
		Task: cmp.Or(h.Task(), in.Task), Vars: in.Vars, Pictures: in.Pictures, Say: h.Unsaid(), Number: t.number,
		Model: in.Model, ModelFacts: in.ModelFacts, Env: &actions{env: in.Env, rec: &s.records}, Tools: in.Tools, Program: in.Program, Beside: len(h.Summaries), Hooks: in.Hooks,
	}
	if t.run.Task != in.Task {
		t.run.Pictures = nil // a person's words, such as after a clear, have none
	}
	t.asked = h.Turn().Asked
	t.hook(&t.run.Hooks)
	err = continueFrom(h, &t.run)
	t.known, t.messages = spent(&t.run), sentOf(t.run.Messages)
	return err
}

// beginTurn records the beginning of a session's turn.
func (s *Session) beginTurn(t *Turn) error {
	turns, open, words := s.state.Turns, s.state.Retry, t.in.Words
	if s.unsure || words == "" && !open { // otherwise the state says enough, and the journal is long
		h, err := s.c.Store.HistoryHere()
		if err != nil {
			return err
		}
		turns, open = 0, false
		last := h.Turn()
		if last != nil {
			turns, open = len(h.Turns), last.Open()
		}
		if s.unsure && open && !last.Asked && last.Words == words {
			words = "" // they were recorded when the turn could not be begun
		}
		if words == "" && !t.in.Wordless && (turns == 0 || len(h.Messages) == 0 && !open) {
			return usage("beginning a turn", ErrNothing)
		}
	}
	t.number = turns
	if open {
		if err := s.c.Store.Append(journal.TypeRetry, nil); err != nil {
			return err
		}
	}
	if words != "" || !open {
		t.number++
		if err := s.c.Store.Append(journal.TypeTurn, journal.TurnData{Turn: t.number, Words: words, Metadata: t.in.Metadata}); err != nil {
			return err
		}
	}
	if err := s.c.Store.Sync(); err != nil {
		return err
	}
	s.state.Turns, s.state.LastActivity, s.state.Retry, s.state.Error = t.number, s.c.Now(), true, ""
	return nil
}

// Turn begins a turn and runs it.
func (s *Session) Turn(ctx context.Context, in Input) (*Result, error) {
	t, err := s.Begin(ctx, in)
	if err != nil {
		return nil, err
	}
	return t.Run(ctx)
}

// Number is the turn's number, from 1. A turn that is tried again keeps its number.
func (t *Turn) Number() int { return t.number }

// errPanic is the error of a run that panicked.
var errPanic = errors.New("a panic")

// Run runs the turn on the caller's goroutine. The Result is never nil. An error comes from
// [agent.Loop.Run] or the store; then the turn has failed and can be tried again. After
// a panic the session is no longer busy.
func (t *Turn) Run(ctx context.Context) (res *Result, err error) {
	rec := &t.s.records
	ctx = authority.With(ctx, t.in.Authority)
	run := t.run
	run.Recorder, run.Admit = rec, func() error { return t.admit(ctx) }
	var ending *agent.Ending
	failed := errPanic
	defer func() {
		res, err = t.end(ending, failed, rec.unanswered(failed))
	}()
	ending, failed = t.s.c.Loop.Run(ctx, run)
	return res, err
}

// admit reserves money for a call, if the turn may still act.
func (t *Turn) admit(ctx context.Context) error {
	if err := t.in.Authority.Check(t.s.c.Now()); err != nil || t.in.Reserve == nil {
		return err
	}
	call, err := t.in.Reserve(ctx)
	if err == nil {
		t.s.records.call = call
	}
	return err
}

// hook adds the session's own hooks to the caller's.
func (t *Turn) hook(h *agent.Hooks) {
	h.Listen = slices.Concat([]agent.Listener{t.listen}, h.Listen)
	h.Approve, h.Rewrite = t.may(h.Approve), t.rewrite()
	if h.Begun != nil {
		h.Begun = t.may(h.Begun)
	}
}

// may returns ask, preceded by a check that the turn may still act; nil if there is nothing to
// ask or check.
func (t *Turn) may(ask func(context.Context, string, agent.Call) error) func(context.Context, string, agent.Call) error {
	if t.in.Authority == nil {
		return ask
	}
	return func(ctx context.Context, tool string, c agent.Call) error {
		if err := t.in.Authority.Check(t.s.c.Now()); err != nil || ask == nil {
			return err
		}
		return ask(ctx, tool, c)
	}
}

// rewrite returns the function that keeps the conversation short; nil without one.
func (t *Turn) rewrite() func(context.Context, agent.Conversation) (*agent.Rewriting, error) {
	always, once := t.in.Rewrite, t.in.Compact
	if once == nil || t.asked {
		return always
	}
	return func(ctx context.Context, c agent.Conversation) (*agent.Rewriting, error) {
		if first := once; first != nil && !c.Refused {
			once = nil
			if w, err := first(ctx, c); w != nil || err != nil {
				return w, err
			}
		}
		if always == nil {
			return nil, nil
		}
		return always(ctx, c)
	}
}

func (t *Turn) listen(e agent.Event) {
	switch e.Type {
	case agent.EventReply:
		t.known.Calls++
		t.known.Cost += e.Response.Cost
	case agent.EventProbed:
		t.known.Cost += e.Response.Cost
	}
	t.warn(e)
}

// end records how the turn ended.
func (t *Turn) end(ending *agent.Ending, err, lost error) (*Result, error) {
	s := t.s
	if ending == nil { // a panic: the runner reports it
		ending = &agent.Ending{Status: vocab.StatusBug, Calls: t.known.Calls, Cost: t.known.Cost}
	}
	if lost != nil && !errors.Is(err, lost) {
		err = errors.Join(err, lost)
	}
	res := &Result{Turn: t.number, End: endOf(ending, err), Answer: answer(ending.Messages), Question: ending.Question, Ending: ending}
	res.Error = ending.Reason
	switch {
	case err != nil:
		res.Error = err.Error()
	case res.End == journal.TurnFailed && res.Error == "":
		res.Error = Unexplained(ending.Status)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn, s.state.Status = nil, Ready
	if saved := t.ended(res); saved != nil && !errors.Is(err, saved) {
		err = errors.Join(err, saved)
	}
	return res, err
}

// Unexplained is the Error of a turn that failed with a status and without a reason.
func Unexplained(s vocab.Status) string { return "the turn ended with the status " + string(s) }

// ended records the end of a session's turn. s.mu is held.
func (t *Turn) ended(res *Result) error {
	s := t.s
	// The run may have failed before it counted the known part of its last step.
	s.state.LastActivity, s.state.Calls, s.state.Cost = s.c.Now(), max(res.Ending.Calls, t.known.Calls), max(res.Ending.Cost, t.known.Cost)
	s.state.Retry, s.state.Error = res.End == journal.TurnFailed, ""
	if s.state.Retry {
		s.state.Error = res.Error
	}
	data := journal.TurnEndData{Turn: res.Turn, End: res.End, Status: res.Ending.Status, Question: res.Question, Error: s.state.Error}
	return s.records.durable(journal.TypeTurnEnd, data)
}

// warn warns the listeners once that the conversation is long.
func (t *Turn) warn(e agent.Event) {
	switch e.Type {
	case agent.EventMessages:
		t.messages += sentOf(e.Messages)
	case agent.EventRewrite:
		for _, edit := range e.Rewritten.Edits {
			t.messages += len(edit.Messages) - (edit.To - edit.From)
		}
	case agent.EventRequest:
		c := &t.s.c
		many := 0 < c.MaxMessages && c.MaxMessages < t.messages
		if t.warned || !many && (c.MaxTokens <= 0 || e.Tokens <= c.MaxTokens) {
			return
		}
		t.warned = true
		c.Log.Warn("the conversation is long", "context", c.ContextID, "messages", t.messages, "tokens", e.Tokens)
		long := fmt.Sprintf("the conversation is long: %d messages, about %d tokens; it can be compacted or cleared", t.messages, e.Tokens)
		for _, listen := range t.in.Listen {
			listen(agent.Event{Type: agent.EventWarning, Time: e.Time, Turn: e.Turn, Step: e.Step, Cost: e.Cost, Window: e.Window, Warning: long})
		}
	}
}

// sentOf counts the messages that a provider sees.
func sentOf(messages []llm.Message) (n int) {
	for _, m := range messages {
		if m.Role != llm.RoleExit {
			n++
		}
	}
	return n
}

// actions runs the agent's actions in an environment, each under the id of its record.
type actions struct {
	env Environment
	rec *recorder
	mu  sync.Mutex
}

// Execute implements [agent.Environment]. A command without a record of its own has no id.
func (a *actions) Execute(ctx context.Context, command string) (vocab.Output, error) {
	a.mu.Lock()
	id := a.rec.action
	a.rec.action = ""
	a.mu.Unlock()
	return a.env.Execute(ctx, id, command)
}

// Read implements [agent.Reader].
func (a *actions) Read(ctx context.Context, command string) (vocab.Output, error) {
	return a.env.Execute(ctx, "", command)
}

// Vars implements [agent.Environment].
func (a *actions) Vars() map[string]any { return a.env.Vars() }
