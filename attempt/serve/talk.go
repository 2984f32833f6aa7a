package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

var errCanceled = errors.New("the caller canceled the task")

// ownerKey is the member of a session's metadata that names the context's owner.
const ownerKey = "owner"

// Talk leads the conversation of a context: it implements [attempt.Talk]. When the context is
// paused, it returns context.Canceled, so that the attempt can be resumed. A Usage fault would end
// the run for all callers, so it becomes a fault of this context.
func (s *Server) Talk(ctx context.Context, conv *attempt.Conversation) error {
	err := s.talk(ctx, conv)
	if fault.KindOf(err) == fault.Usage {
		return fault.New(fault.Instance, "", err)
	}
	return err
}

func (s *Server) talk(ctx context.Context, conv *attempt.Conversation) error {
	s.mu.Lock()
	c := s.contexts[conv.Instance.ID]
	s.mu.Unlock()
	if c == nil {
		return fault.Newf(fault.Bug, "leading context %s, which does not exist", conv.Instance.ID)
	}
	if err := own(ctx, conv.Session, c.owner); err != nil {
		return err
	}
	if conv.Diverged {
		s.c.Log.Warn("the commands of a context did something else when they ran again in its new container", "context", c.id)
	}
	for {
		w := c.next(ctx)
		if w == nil {
			if err := conv.Session.Pause(ctx); err != nil {
				return err
			}
			return context.Canceled
		}
		if err := c.do(ctx, conv, w); err != nil {
			return err
		}
	}
}

// own records the owner in the session's metadata.
func own(ctx context.Context, s *session.Session, owner string) error {
	meta := s.State().Metadata
	if meta[ownerKey] == owner {
		return nil
	}
	if meta == nil {
		meta = map[string]string{}
	}
	meta[ownerKey] = owner
	return s.SetMetadata(ctx, meta)
}

// Event handles an event of the run. It must get every event.
func (s *Server) Event(e vocab.Event) {
	if e.Type != vocab.EventInstanceEnd {
		return
	}
	s.mu.Lock()
	c := s.contexts[e.Instance]
	s.mu.Unlock()
	if c != nil {
		c.unseat(e.Status == vocab.StatusInterrupted, s.c.Mask("the context's container failed: "+e.Error))
	}
}

// do works on a message. An error means that this container cannot be used any more; the work
// continues in the next one.
func (c *conversation) do(ctx context.Context, conv *attempt.Conversation, w *work) error {
	last, ok, err := conv.Session.Last(ctx)
	if err != nil {
		return err
	}
	begun := ok && last.Metadata["message"] == w.message.ID
	if begun && !last.Open() { // the end was not recorded
		answer, err := lastAnswer(ctx, conv.Session)
		if err != nil {
			return err
		}
		return c.ended(ctx, conv, w, outcome{end: last.End.End, answer: answer, question: last.End.Question})
	}
	if w.retry && !(ok && last.Open()) {
		return c.end(w, a2a.TaskStateRejected, "the context has no turn that can be tried again", nil)
	}
	in := session.Input{
		Words: w.words, Metadata: map[string]string{"task": string(w.task.id), "message": w.message.ID},
		Authority: w.authority,
	}
	if begun || w.retry {
		in.Words = ""
	}
	return c.turn(ctx, conv, w, in)
}

// outcome is the result of a turn.
type outcome struct {
	end        journal.TurnEnd
	answer     string
	question   string
	submission []byte
	err        error
}

// turn runs a turn.
func (c *conversation) turn(ctx context.Context, conv *attempt.Conversation, w *work, in session.Input) error {
	turnCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in.Listen = []agent.Listener{func(e agent.Event) { c.shown(w.task, e) }}
	_, run, err := conv.Begin(turnCtx, in)
	switch {
	case fault.KindOf(err) == fault.Expired:
		return c.end(w, a2a.TaskStateAuthRequired, c.problem(err), nil)
	case errors.Is(err, session.ErrNothing):
		return c.end(w, a2a.TaskStateRejected, "there is nothing to say", nil)
	case err != nil:
		return err
	}
	if !c.started(w, cancel) {
		cancel(errCanceled)
	}
	res, err := run(turnCtx)
	switch cause := context.Cause(turnCtx); {
	case ctx.Err() != nil:
		return ctx.Err() // the turn continues after a restart
	case errors.Is(cause, errCanceled):
		err = cause
	}
	o := outcome{end: res.End, answer: res.Answer, question: res.Question, err: err}
	if res.Ending.Submitted {
		o.submission = res.Ending.Submission
	}
	if err == nil && res.End == journal.TurnFailed {
		o.err = fmt.Errorf("%s", res.Ending.Reason)
	}
	return c.ended(ctx, conv, w, o)
}

// started marks w as running. It reports whether the work is still wanted.
func (c *conversation) started(w *work, cancel context.CancelCauseFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = cancel
	now := c.s.c.Now().UTC()
	w.task.status = a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: &now}
	w.task.send(&a2a.TaskStatusUpdateEvent{TaskID: w.task.id, ContextID: c.id, Status: w.task.status})
	return !w.canceled
}

// ended ends a task with the result of its turn. An error means that the container cannot be used
// any more.
func (c *conversation) ended(ctx context.Context, conv *attempt.Conversation, w *work, o outcome) error {
	patch, failed := conv.Diff(ctx)
	var broken error
	switch {
	case failed == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case unusable(failed) != nil:
		broken = unusable(failed)
		if !errors.Is(o.err, errCanceled) {
			return broken // another container continues the turn, or takes its patch
		}
	default:
		c.s.c.Log.Info("a turn has no patch", "context", c.id, "err", failed)
	}
	var made []*product
	if len(patch) > 0 {
		made = append(made, &product{Name: patchName, MediaType: "text/x-diff", Data: patch})
		if err := conv.Session.SaveArtifact(ctx, patchName, "text/x-diff", patch); err != nil {
			return err
		}
	}
	if len(o.submission) > 0 {
		made = append(made, &product{Name: submissionName, MediaType: "text/plain", Data: o.submission})
	}
	state, words := c.state(o)
	return errors.Join(broken, c.end(w, state, words, made))
}

// unusable returns the error in err's chain that says that the container is gone or unreachable. It
// returns nil if only a command in the container failed.
func unusable(err error) error {
	if errors.Is(err, vocab.ErrDestroyed) {
		return err
	}
	for ; err != nil; err = errors.Unwrap(err) {
		if kind := fault.KindOf(err); kind == fault.Transient || kind == fault.Host {
			return err
		}
	}
	return nil
}

// state returns a turn's state in the protocol, and the text for the caller.
func (c *conversation) state(o outcome) (a2a.TaskState, string) {
	switch {
	case errors.Is(o.err, errCanceled):
		return a2a.TaskStateCanceled, ""
	case fault.KindOf(o.err) == fault.Expired:
		return a2a.TaskStateAuthRequired, c.problem(o.err)
	case o.err != nil:
		return a2a.TaskStateFailed, c.problem(o.err)
	case o.end == journal.TurnInputRequired:
		return a2a.TaskStateInputRequired, c.s.c.Mask(o.question)
	case o.end == journal.TurnMaxIterations:
		return a2a.TaskStateFailed, c.s.c.Mask("a limit was reached; what the agent said last: " + o.answer)
	default:
		return a2a.TaskStateCompleted, c.s.c.Mask(o.answer)
	}
}

// problem formats an error for the caller.
func (c *conversation) problem(err error) string {
	text := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		text += " (" + hint + ")"
	}
	return c.s.c.Mask(text)
}

// lastAnswer returns the model's last text.
func lastAnswer(ctx context.Context, s *session.Session) (string, error) {
	list, err := s.Messages(ctx, session.Query{})
	if err != nil {
		return "", err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role == "assistant" {
			return list[i].Text(), nil
		}
	}
	return "", nil
}
