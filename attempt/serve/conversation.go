package serve

import (
	"context"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm/authority"
)

// conversation is a context of the protocol. Its mutex is locked before the server's.
type conversation struct {
	s       *Server
	id      string
	owner   string
	row     string // of the dataset; empty: none
	created time.Time

	wake  chan struct{} // has a token when there is work
	leave chan struct{} // has a token when another context needs its container

	mu        sync.Mutex
	log       *contextLog // nil before the context is durable
	tasks     []*task
	byMessage map[string]*task // by the ids of accepted messages

	work    *work                   // accepted and not finished
	running context.CancelCauseFunc // of the turn of work, while the agent works
	seat    seat
	used    time.Time

	forgotten bool // removed from the server
}

// seat says whether a context has a container.
type seat int

const (
	away    seat = iota // without a container
	queued              // the run will take it, or has done so
	seated              // in conversation
	leaving             // its container is being removed
)

// work is an accepted message.
type work struct {
	task      *task
	message   *a2a.Message
	words     string
	retry     bool // try the open turn again
	canceled  bool // by the caller; guarded by the context's mutex
	authority *authority.Authority
}

func (s *Server) conversation(id string) *conversation {
	return &conversation{
		s: s, id: id, byMessage: map[string]*task{}, wake: make(chan struct{}, 1), leave: make(chan struct{}, 1), used: s.c.Now(),
	}
}

// recall applies an entry of the log.
func (c *conversation) recall(e entry, at journal.Place) error {
	if e.Type == entryContext {
		c.owner, c.row, c.created = e.Owner, e.Row, e.Time
		return nil
	}
	t := c.task(e.Task)
	if t == nil && e.Type != entryMessage {
		return fault.Newf(fault.Instance, "a line of task %.40q, which did not begin", e.Task)
	}
	switch e.Type {
	case entryMessage:
		if t == nil {
			t = c.newTask(e.Task)
		}
		t.keyed = e.Keyed
		c.take(t, e.Message)
		t.status = a2a.TaskStatus{State: a2a.TaskStateSubmitted, Timestamp: &e.Time}
	case entryStatus:
		t.settle(*e.Status)
	case entryArtifact:
		t.made(e.Artifact.Name, at)
	case entryPush:
		c.s.c.Log.Warn("a task asked for push notifications, which this server does not send", "task", t.id)
	}
	return nil
}

// take adds a message to a task. The caller holds c.mu, or has the only reference to c.
func (c *conversation) take(t *task, m *a2a.Message) {
	t.history = append(t.history, m)
	c.byMessage[m.ID] = t
}

// task returns a task, or nil.
func (c *conversation) task(id a2a.TaskID) *task {
	for _, t := range c.tasks {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (c *conversation) newTask(id a2a.TaskID) *task {
	t := &task{c: c, id: id}
	c.tasks = append(c.tasks, t)
	return t
}

// resume continues the work that an earlier server left. The caller has the only reference to c.
func (c *conversation) resume() error {
	if len(c.tasks) == 0 {
		return nil
	}
	t := c.tasks[len(c.tasks)-1]
	if t.status.State != a2a.TaskStateSubmitted {
		return nil
	}
	m := t.history[len(t.history)-1]
	w := &work{task: t, message: m, retry: asksRetry(m), authority: &authority.Authority{Actor: c.owner}}
	w.words, _ = wordsOf(m)
	if t.keyed {
		return c.end(w, a2a.TaskStateAuthRequired, "the server was restarted, and keeps no credentials: send a message with this task's id and with them to continue", nil)
	}
	t.begin()
	c.work, c.seat = w, queued
	c.s.enqueue(c)
	return nil
}

func (c *conversation) idleSince() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used, c.seat == seated && c.work == nil
}

// accept makes w the context's work; w is already durable. The caller holds c.mu. enqueue says that
// the caller must then enqueue the context, without holding c.mu.
func (c *conversation) accept(w *work) (enqueue bool) {
	c.work, c.used = w, c.s.c.Now()
	switch c.seat {
	case away:
		c.seat = queued
		return true
	case seated:
		signal(c.wake)
	case queued, leaving: // taken once the conversation is led, or once the container is gone
	}
	return false
}

// next waits for work. It returns nil if the context should be paused, and so its container
// removed.
func (c *conversation) next(ctx context.Context) *work {
	var idle <-chan time.Time
	if d := c.s.c.Idle; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		idle = timer.C
	}
	pause := false
	for {
		w, left := c.now(ctx.Err() != nil || c.s.draining(), pause)
		if left || w != nil {
			return w
		}
		select {
		case <-c.wake:
		case <-c.leave:
			pause = true
		case <-idle:
			pause = true
		case <-c.s.jobs.Over():
		case <-ctx.Done():
		}
	}
}

// now returns the waiting work. left means that the context leaves its container: at once if stop
// is set, otherwise only if there is no work and the container should be given up.
func (c *conversation) now(stop, pause bool) (w *work, left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seat = seated
	if c.work != nil && !stop {
		return c.work, false
	}
	if stop || pause || c.s.waiting() {
		c.seat = leaving
		return nil, true
	}
	return nil, false
}

// unseat records that the run is done with the context. Remaining work continues in another
// container if the context was paused, and in a later run if it was interrupted or the server is
// draining. Otherwise it failed for reason.
func (c *conversation) unseat(interrupted bool, reason string) {
	c.s.gone()
	c.mu.Lock()
	paused := c.seat == leaving
	c.seat, c.running = away, nil
	w := c.work
	again := w != nil && paused && !c.s.draining()
	if again {
		c.seat = queued
	}
	c.mu.Unlock()
	switch {
	case w == nil || c.s.draining():
	case again:
		c.s.enqueue(c)
	case interrupted: // an interrupt may arrive before the server drains
	default:
		if err := c.end(w, a2a.TaskStateFailed, reason, nil); err != nil {
			c.s.c.Log.Error("the end of a task could not be recorded", "context", c.id, "task", w.task.id, "err", err)
		}
	}
}

// end records that a task ended or waits for its caller, and frees the context for the next
// message. If this cannot be recorded, the task continues after a restart.
func (c *conversation) end(w *work, state a2a.TaskState, words string, made []*product) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endHeld(w.task, state, words, made)
}

// endHeld is end for the context's work or for a task that waits for its caller. The caller holds
// c.mu.
func (c *conversation) endHeld(t *task, state a2a.TaskState, words string, made []*product) error {
	now := c.s.c.Now().UTC()
	c.work, c.running, c.used = nil, nil, now
	status := a2a.TaskStatus{State: state, Timestamp: &now, Message: t.says(words)}
	var entries []entry
	for _, p := range made {
		entries = append(entries, entry{Type: entryArtifact, Time: now, Task: t.id, Artifact: p})
	}
	entries = append(entries, entry{Type: entryStatus, Time: now, Task: t.id, Status: &status})
	places, err := c.log.append(entries...)
	if err != nil {
		status.State, status.Message = a2a.TaskStateFailed, t.says("the server could not record how this ended")
	}
	for i, p := range made {
		if err == nil {
			t.made(p.Name, places[i])
		}
	}
	for _, p := range made {
		t.send(p.events(t)...)
	}
	t.settle(status)
	t.finish()
	return err
}
