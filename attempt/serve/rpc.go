package serve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"slices"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"

	"batch.example/batch/fault"
	"batch.example/batch/llm/authority"
)

// handler answers the protocol's requests. Errors wrap an error of package a2a, which determines
// their code. The SDK's handler, without an agent, refuses the extended card; [parse] refuses push
// notifications. The SDK's does not lead turns, since it finds only tasks that run in this process,
// gives the same message sent twice two tasks, and lets the slowest listener hold up the agent.
type handler struct {
	*Server
	a2asrv.RequestHandler
}

// maxID is the maximum length of ids that callers choose.
const maxID = 256

// OnSendMessage implements [a2asrv.RequestHandler].
func (h handler) OnSendMessage(ctx context.Context, p *a2a.MessageSendParams) (a2a.SendMessageResult, error) {
	t, err := h.send(ctx, p)
	if err != nil {
		return nil, err
	}
	t.c.mu.Lock()
	under := t.stream
	t.c.mu.Unlock()
	if blocking(p.Config) {
		if err := h.wait(ctx, under); err != nil {
			return nil, err
		}
	}
	var n *int
	if p.Config != nil {
		n = p.Config.HistoryLength
	}
	return h.see(t, n)
}

// blocking reports whether the answer waits for the end of the turn, which is the default.
func blocking(c *a2a.MessageSendConfig) bool { return c == nil || c.Blocking == nil || *c.Blocking }

// wait waits for the end of a turn. under is nil if it has ended.
func (h handler) wait(ctx context.Context, under *stream) error {
	if under == nil {
		return nil
	}
	select {
	case <-under.done:
	case <-h.stopped:
	case <-ctx.Done():
		return fmt.Errorf("the request was given up: %w", a2a.ErrServerError)
	}
	return nil
}

// see returns a task's current state.
func (h handler) see(t *task, n *int) (*a2a.Task, error) {
	t.c.mu.Lock()
	seen, made := t.now(n)
	t.c.mu.Unlock()
	_, err := t.read(seen, made)
	return seen, h.internal(err)
}

// internal logs an error that is not the caller's, and hides it.
func (s *Server) internal(err error) error {
	if err == nil {
		return nil
	}
	s.c.Log.Error("answering a request", "err", err)
	return fmt.Errorf("%w: the server's log has more", a2a.ErrInternalError)
}

// OnSendMessageStream implements [a2asrv.RequestHandler].
func (h handler) OnSendMessageStream(ctx context.Context, p *a2a.MessageSendParams) iter.Seq2[a2a.Event, error] {
	return h.follow(ctx, func() (*task, error) { return h.send(ctx, p) })
}

// OnResubscribeToTask implements [a2asrv.RequestHandler]. For a task that has ended, it yields only
// the task.
func (h handler) OnResubscribeToTask(ctx context.Context, p *a2a.TaskIDParams) iter.Seq2[a2a.Event, error] {
	return h.follow(ctx, func() (*task, error) { return h.mine(ctx, p.ID) })
}

// follow yields a task's current state and then its events. The SDK reads them on its own goroutine,
// for which Close waits.
func (h handler) follow(ctx context.Context, find func() (*task, error)) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		h.mu.Lock()
		stopped := closed(h.stopped)
		if !stopped {
			h.streams.Add(1)
			defer h.streams.Done()
		}
		h.mu.Unlock()
		if stopped {
			yield(nil, errStopping)
			return
		}
		events, more, from, err := h.listen(find)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if more == nil {
			return
		}
		for e := range more.all(ctx, h.stopped, from) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// listen returns the first events for a listener, and the stream and position of later events. The
// stream is nil if the task has ended or waits for the caller. A panic becomes an error, since
// nothing above recovers it.
func (h handler) listen(find func() (*task, error)) (events []a2a.Event, more *stream, from int, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = h.internal(fault.Newf(fault.Bug, "panic: %v", v))
		}
	}()
	t, err := find()
	if err != nil {
		return nil, nil, 0, err
	}
	t.c.mu.Lock()
	if more = t.stream; more != nil {
		from = more.len()
	}
	seen, made := t.now(nil)
	t.c.mu.Unlock()
	events, err = t.first(seen, made)
	return events, more, from, h.internal(err)
}

// OnGetTask implements [a2asrv.RequestHandler].
func (h handler) OnGetTask(ctx context.Context, q *a2a.TaskQueryParams) (*a2a.Task, error) {
	t, err := h.mine(ctx, q.ID)
	if err != nil {
		return nil, err
	}
	if q.HistoryLength != nil && *q.HistoryLength < 0 {
		return nil, invalid("historyLength %d: expected 0 or more", *q.HistoryLength)
	}
	return h.see(t, q.HistoryLength)
}

// OnCancelTask implements [a2asrv.RequestHandler]. It waits until the agent has stopped.
func (h handler) OnCancelTask(ctx context.Context, p *a2a.TaskIDParams) (*a2a.Task, error) {
	t, err := h.mine(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	under, err := t.c.cancel(t)
	if err != nil {
		return nil, err
	}
	if err := h.wait(ctx, under); err != nil {
		return nil, err
	}
	return h.see(t, nil)
}

// cancel stops a task. It returns the stream of a turn that has yet to end, or nil.
func (c *conversation) cancel(t *task) (under *stream, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.status.State.Terminal() {
		return nil, fmt.Errorf("%w: it is %s", a2a.ErrTaskNotCancelable, t.status.State)
	}
	switch w := c.work; {
	case w == nil || w.task != t: // the task waits for its caller
	case c.running != nil:
		w.canceled = true
		c.running(errCanceled)
		return t.stream, nil
	case c.seat == seated: // the turn is about to begin
		w.canceled = true
		return t.stream, nil
	}
	return nil, c.s.internal(c.endHeld(t, a2a.TaskStateCanceled, "", nil))
}

var errStopping = fmt.Errorf("%w: the server is being stopped", a2a.ErrServerError)

// invalid returns the error for an invalid request.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

// limited returns the error for a caller that has reached a limit.
func limited(format string, args ...any) error {
	return fmt.Errorf("%w: %s", a2a.ErrServerError, fmt.Sprintf(format, args...))
}

// mine returns a task of the caller. Another caller's task looks like one that does not exist.
func (h handler) mine(ctx context.Context, id a2a.TaskID) (*task, error) {
	if id == "" {
		return nil, invalid("the task's id is missing")
	}
	if c := h.find(contextOf(id), callerOf(ctx).name); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if t := c.task(id); t != nil {
			return t, nil
		}
	}
	return nil, a2a.ErrTaskNotFound
}

// send accepts a message, and returns its task.
func (h handler) send(ctx context.Context, p *a2a.MessageSendParams) (*task, error) {
	words, err := h.checkMessage(p)
	if err != nil {
		return nil, err
	}
	caller := callerOf(ctx)
	c, id, err := h.place(caller, p.Message)
	if err != nil {
		return nil, err
	}
	w := &work{message: p.Message, words: words, retry: asksRetry(p.Message)}
	w.authority = &authority.Authority{Actor: caller.name, ModelKey: caller.modelKey}
	t, err := h.admit(c, id, w)
	if err != nil {
		h.forget(c)
	}
	return t, err
}

// forget removes a context in which no message was accepted.
func (h handler) forget(c *conversation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgotten = len(c.tasks) == 0; c.forgotten {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.contexts, c.id)
	}
}

// checkMessage refuses messages that can never be accepted.
func (h handler) checkMessage(p *a2a.MessageSendParams) (words string, err error) {
	if p == nil || p.Message == nil {
		return "", invalid("the message is missing")
	}
	m := p.Message
	switch {
	case m.ID == "" || len(m.ID) > maxID:
		return "", invalid("messageId: expected 1 to %d bytes", maxID)
	case m.Role != a2a.MessageRoleUser:
		return "", invalid("role %.20q: expected user", m.Role)
	case len(m.Parts) == 0:
		return "", invalid("the message has no parts")
	}
	words, ok := wordsOf(m)
	switch {
	case !ok:
		return "", fmt.Errorf("%w: a message has text parts only", a2a.ErrUnsupportedContentType)
	case words == "" && !asksRetry(m):
		return "", invalid("the message is empty")
	}
	if p.Config == nil {
		return words, nil
	}
	if modes := p.Config.AcceptedOutputModes; len(modes) > 0 && !slices.ContainsFunc(modes, offered) {
		return "", fmt.Errorf("%w: this agent's output is %v", a2a.ErrUnsupportedContentType, outputModes)
	}
	if n := p.Config.HistoryLength; n != nil && *n < 0 {
		return "", invalid("historyLength %d: expected 0 or more", *n)
	}
	if p.Config.PushConfig != nil {
		return "", a2a.ErrPushNotificationNotSupported
	}
	return words, nil
}

// place returns the context and task of a message. The id is empty for a new task.
func (h handler) place(caller caller, m *a2a.Message) (*conversation, a2a.TaskID, error) {
	switch {
	case m.TaskID != "":
		c := h.find(contextOf(m.TaskID), caller.name)
		if c == nil {
			return nil, "", a2a.ErrTaskNotFound
		}
		if m.ContextID != "" && m.ContextID != c.id {
			return nil, "", invalid("contextId: the task belongs to another context")
		}
		return c, m.TaskID, nil
	case m.ContextID != "":
		if c := h.find(m.ContextID, caller.name); c != nil {
			return c, "", nil
		}
		return nil, "", invalid("contextId: there is no such context; leave it out to begin one")
	}
	c, err := h.begin(caller, m)
	return c, "", err
}

// begin returns the context for a message without one. The context's id follows from the caller and
// the message's id, so that a repeated message gets the same context.
func (h handler) begin(caller caller, m *a2a.Message) (*conversation, error) {
	sum := sha256.Sum256([]byte(caller.name + "\x00" + m.ID))
	id := hex.EncodeToString(sum[:16])
	if c := h.find(id, caller.name); c != nil {
		return c, nil
	}
	row, _ := m.Metadata[rowKey].(string)
	if _, err := h.c.Instance(id, row); err != nil {
		if fault.KindOf(err) == fault.Usage {
			return nil, invalid("metadata %s: %s", rowKey, h.c.Mask(err.Error()))
		}
		return nil, h.internal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.contexts[id]; c != nil {
		return c, nil
	}
	if h.draining() {
		return nil, errStopping
	}
	if most, have := h.c.Limits.Contexts, len(h.contexts); most > 0 && have >= most {
		return nil, limited("there are %d contexts, and may be no more", have)
	}
	c := h.conversation(id)
	c.owner, c.row, c.created = caller.name, row, h.c.Now().UTC()
	h.contexts[id] = c
	return c, nil
}

// admit accepts a message for a context durably. id is its task; empty for a new task.
func (h handler) admit(c *conversation, id a2a.TaskID, w *work) (*task, error) {
	c.mu.Lock()
	t, enqueue, err := c.admit(id, w)
	c.mu.Unlock()
	if enqueue {
		h.enqueue(c)
	}
	return t, err
}

func (c *conversation) admit(id a2a.TaskID, w *work) (t *task, enqueue bool, err error) {
	if t := c.byMessage[w.message.ID]; t != nil {
		return t, false, nil // the message was sent twice
	}
	if t = c.task(id); t == nil && id != "" {
		return nil, false, a2a.ErrTaskNotFound
	}
	switch most := c.s.c.Limits.Turns; {
	case c.s.draining():
		return nil, false, errStopping
	case c.forgotten:
		return nil, false, limited("the context was given up meanwhile; send the message again")
	case t != nil && t.status.State.Terminal():
		return nil, false, invalid("the task is %s; leave taskId out to begin another one in its context", t.status.State)
	case c.work != nil:
		return nil, false, fmt.Errorf("%w: the context works on task %s; wait for it, or cancel it", a2a.ErrUnsupportedOperation, c.work.task.id)
	case most > 0 && len(c.byMessage) >= most:
		return nil, false, limited("this context has had %d messages, and takes no more", len(c.byMessage))
	}
	if err := c.record(t, w); err != nil {
		return nil, false, c.s.internal(err)
	}
	w.task.begin()
	return w.task, c.accept(w), nil
}

// record makes a message durable. t is its task; nil creates a new one.
func (c *conversation) record(t *task, w *work) (err error) {
	now := c.s.c.Now().UTC()
	var entries []entry
	if c.log == nil {
		if c.log, err = newLog(c.s.c.Dir, c.id); err != nil {
			return err
		}
	}
	if c.log.Empty() {
		entries = append(entries, entry{Type: entryContext, Time: c.created, Owner: c.owner, Row: c.row})
	}
	id := taskID(c.id, len(c.tasks)+1)
	if t != nil {
		id = t.id
	} else if n := len(c.tasks); n > 0 && !c.tasks[n-1].status.State.Terminal() {
		old := c.tasks[n-1]
		if err := c.endHeld(old, a2a.TaskStateCanceled, "another message continued this context", nil); err != nil {
			return err
		}
	}
	m := *w.message
	m.TaskID, m.ContextID = id, c.id
	w.message = &m
	entries = append(entries, entry{Type: entryMessage, Time: now, Task: id, Message: &m, Keyed: w.authority.ModelKey != ""})
	if _, err := c.log.append(entries...); err != nil {
		return err
	}
	if t == nil {
		t = c.newTask(id)
	}
	w.task = t
	t.keyed, t.status = w.authority.ModelKey != "", a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: &now}
	c.take(t, &m)
	return nil
}
