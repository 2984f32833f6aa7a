package attempt

import (
	"context"
	"slices"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/dataset"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// Talk leads an attempt's conversation, in place of the one turn of a batch run. When it
// returns nil, the attempt ends with the result of the last turn: the agent's submission or,
// without one, the working tree's diff. An error ends the attempt too; after context.Canceled,
// or before a turn has ended, a later run resumes it.
type Talk func(ctx context.Context, c *Conversation) error

// Conversation is an attempt with a ready sandbox, for its [Talk]. Its methods are not safe
// for concurrent use, except the methods of its Session, and must not be called after the Talk
// has returned.
type Conversation struct {
	Session  *session.Session // ready
	Instance dataset.Instance
	Facts    sandbox.Facts

	// Resumed says that the attempt was interrupted before, and Diverged that its sandbox is
	// a new one in which some of its actions did something else than before.
	Resumed, Diverged bool

	// Differences are the recorded actions that did something else when they ran again in
	// this sandbox.
	Differences []journal.DifferenceData

	// Cut is the action that was running when an earlier process ended; nil: none was.
	Cut *Cut

	t     *attempt
	model llm.Model
	box   Sandbox
	tools []agent.Tool // of MCP servers

	program agent.Program // nil: none
}

// Cut is an action that was cut off: its process did not record its end.
type Cut struct {
	Command string
	Tool    string // if there is no command

	// Lost says that its result is unknown: its sandbox is gone, or it was not a command.
	// Otherwise the sandbox knows it by its id.
	Lost bool
}

// cut returns the action that was running when an earlier process ended; nil if none was.
func (t *attempt) cut() *Cut {
	if t.past == nil || t.past.Last() == nil {
		return nil
	}
	actions := t.past.Last().Actions
	if len(actions) == 0 || actions[len(actions)-1].Output != nil {
		return nil
	}
	a := actions[len(actions)-1]
	return &Cut{Command: a.Command, Tool: a.Tool, Lost: !t.box.Adopted || a.Command == ""}
}

// talk makes the attempt a conversation, or the one turn of a batch run.
func (t *attempt) talk(ctx context.Context, model llm.Model, box Sandbox) error {
	s := session.New(session.Config{
		ContextID: t.in.ID, Store: t.journal, Loop: t.Loop,
		Model: t.ModelName, Log: t.log, Now: t.Now,
		MaxMessages: t.MaxMessages, MaxTokens: t.MaxTokens,
		Saving: func() func() { return t.watch.during(&t.watch.spent.Save) },
	})
	if err := s.Start(ctx); err != nil {
		return err
	}
	servers, err := t.connect(ctx, box)
	if err != nil {
		return err
	}
	defer servers.Close()
	var program agent.Program
	if t.Program != nil {
		running, err := t.Program.begin(ctx, t, box, model)
		if err != nil {
			return err
		}
		defer running.close(ctx)
		program = running
	}
	c := &Conversation{
		Session: s, Instance: t.in, Facts: t.box, Resumed: t.past != nil, Diverged: t.diverged, Differences: t.differences, Cut: t.cut(),
		t: t, model: model, box: box, tools: servers.Tools(), program: program,
	}
	if t.Talk == nil {
		return c.work(ctx)
	}
	if err := t.leads(ctx, c); err != nil {
		return err
	}
	return c.end()
}

// work has the one turn of a batch run, unless it ended before a resume.
func (c *Conversation) work(ctx context.Context) (err error) {
	if past := c.t.past; past != nil {
		if turn := past.Turn(); turn != nil && turn.End != nil && turn.End.Closes() {
			c.t.ending, err = c.earlier(past)
			return err
		}
		past.Release() // the session reads the journal itself
	}
	_, err = c.Turn(ctx, session.Input{Wordless: true})
	return err
}

// leads calls the Talk. The time between its turns is the person's.
func (t *attempt) leads(ctx context.Context, c *Conversation) error {
	defer t.watch.during(&t.watch.person)()
	return t.Talk(ctx, c)
}

// end ends the attempt as the last turn ended, also if that turn ran before a resume.
func (c *Conversation) end() error {
	t := c.t
	if t.ending == nil {
		h, err := t.journal.HistoryHere()
		if err == nil {
			t.ending, err = c.earlier(h)
		}
		if err != nil {
			return err
		}
	}
	if t.ending == nil {
		return context.Canceled // nothing was said yet
	}
	if !outcome(t.ending).Final() {
		t.ending.Status, t.ending.Reason = vocab.StatusEnded, ""
	}
	return nil
}

// earlier is the ending of the last turn in a history, which ran before a resume; nil if there was none.
func (c *Conversation) earlier(h *journal.History) (*agent.Ending, error) {
	if h.Turn() == nil {
		return nil, nil
	}
	list, err := session.MessagesOf(h, session.Query{})
	if err != nil {
		return nil, err
	}
	st := c.Session.State()
	e := &agent.Ending{Status: vocab.StatusEnded, Calls: st.Calls, Cost: st.Cost, Unpriced: h.Unpriced(), ModelID: c.t.result.Record.ModelID}
	for _, m := range list {
		e.Messages = append(e.Messages, m.Message)
	}
	if end := h.Turn().End; end != nil {
		e.Status, e.Question = end.Status, end.Question
		if end.Error != session.Unexplained(end.Status) {
			e.Reason = end.Error
		}
	}
	if e.Status == vocab.StatusSubmitted && len(list) > 0 {
		e.Submission, e.Submitted = agent.Submission(list[len(list)-1].Message)
	}
	return e, nil
}

// Model is the attempt's model.
func (c *Conversation) Model() llm.Model { return c.model }

// Messages returns the Session's Messages as people may read them, also while a turn waits for its
// Approve or its model.
func (c *Conversation) Messages(_ context.Context, q session.Query) ([]session.Message, error) {
	h, err := c.t.journal.ShownHere()
	if err != nil {
		return nil, err
	}
	return session.MessagesOf(h, q)
}

// Salvage makes the working tree's diff the prediction if the last turn does not submit.
func (c *Conversation) Salvage() { c.t.Salvage = true }

// Turn runs one turn; see [Conversation.Begin].
func (c *Conversation) Turn(ctx context.Context, in session.Input) (*session.Result, error) {
	return c.ran(func() (*session.Result, error) { return c.Session.Turn(ctx, c.input(in)) })
}

// Begin begins a turn, with the attempt's model, sandbox, budget and listeners, and the
// template variables of its instance. The caller must call run, on the goroutine of the
// Talk.
func (c *Conversation) Begin(ctx context.Context, in session.Input) (turn *session.Turn, run func(context.Context) (*session.Result, error), err error) {
	if turn, err = c.Session.Begin(ctx, c.input(in)); err != nil {
		return nil, nil, err
	}
	return turn, func(ctx context.Context) (*session.Result, error) {
		return c.ran(func() (*session.Result, error) { return turn.Run(ctx) })
	}, nil
}

// ran runs a turn. If the turn has begun, the attempt ends as it does.
func (c *Conversation) ran(run func() (*session.Result, error)) (*session.Result, error) {
	t := c.t
	defer t.watch.to(t.watch.to(&t.watch.spent.Agent))
	res, err := run()
	if res != nil {
		t.ending = after(t.ending, res.Ending)
		t.at.Step, t.at.Cost = t.steps(), t.cost()
	}
	return res, err
}

// input returns in with the attempt's settings for each turn.
func (c *Conversation) input(in session.Input) session.Input {
	t := c.t
	in.Task = t.in.ProblemStatement
	if in.Vars == nil {
		in.Vars = Task(t.in).Vars
	}
	if in.Model == nil {
		in.Model = c.model
	}
	if in.Rewrite == nil && c.program == nil { // a program keeps its conversation short itself
		in.Rewrite = t.Rewrite
	}
	in.Pictures = t.pictures
	in.Approve, in.Begun = t.asked(in.Approve), t.asked(in.Begun)
	in.ModelFacts = t.ModelFacts
	in.Model, in.Env = timed{in.Model, t.watch}, measured{c.box, t.watch}
	in.Tools, in.Program = slices.Concat(in.Tools, c.tools), c.program
	in.Reserve, in.Ready = t.reserve, t.settle
	in.Listen = slices.Concat([]agent.Listener{t.logEvent, t.progress, t.hear, t.heard}, in.Listen)
	if t.Limits != nil {
		in.Limits = func(l vocab.Limits) vocab.Limits { return t.Limits(t.in.ID, l) }
	}
	return in
}

// asked is ask; the stopwatch counts its time as the person's.
func (t *attempt) asked(ask func(context.Context, string, agent.Call) error) func(context.Context, string, agent.Call) error {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, tool string, a agent.Call) error {
		defer t.watch.during(&t.watch.person)()
		return ask(ctx, tool, a)
	}
}

// Diff is the working tree's diff against the commit that the agent began at, so it
// includes what the agent committed.
func (c *Conversation) Diff(ctx context.Context) ([]byte, error) {
	if err := c.t.settle(ctx); err != nil {
		return nil, err
	}
	return c.t.worktreeDiff(ctx, c.box)
}

// after returns the common ending of two runs, one after the other.
func after(first, second *agent.Ending) *agent.Ending {
	if first == nil {
		return second
	}
	both := *second
	both.Usage = first.Usage.Add(second.Usage)
	both.ModelTime += first.ModelTime
	both.RateWait += first.RateWait
	both.Backoff += first.Backoff
	both.CommandTime += first.CommandTime
	if both.ModelID == "" {
		both.ModelID = first.ModelID
	}
	return &both
}

// measured is a sandbox that measures the agent's commands with a stopwatch.
type measured struct {
	Sandbox
	watch *stopwatch
}

// Execute implements [session.Environment].
func (m measured) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	defer m.watch.together(&m.watch.spent.Commands)()
	return m.Sandbox.Execute(ctx, id, command)
}
