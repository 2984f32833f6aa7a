package serve

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/agent"
)

// stream has the events of a task that is under way. Each listener reads at its own speed. The
// events stay in memory until the task has ended and all listeners have finished.
type stream struct {
	mu     sync.Mutex
	events []a2a.Event
	more   chan struct{} // closed when there are more events
	done   chan struct{} // closed at the end
}

func newStream() *stream { return &stream{more: make(chan struct{}), done: make(chan struct{})} }

func (s *stream) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

func (s *stream) send(events ...a2a.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
	s.wakeAll()
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.done)
	s.wakeAll()
}

func (s *stream) wakeAll() {
	close(s.more)
	s.more = make(chan struct{})
}

// all yields the events from number i on, until the stream ends, ctx ends or stopped is closed.
func (s *stream) all(ctx context.Context, stopped <-chan struct{}, i int) iter.Seq[a2a.Event] {
	return func(yield func(a2a.Event) bool) {
		for {
			s.mu.Lock()
			events, ended, more := s.events[i:len(s.events):len(s.events)], closed(s.done), s.more
			s.mu.Unlock()
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
			if i += len(events); ended {
				return
			}
			select {
			case <-more:
			case <-stopped:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// eventKey is the member of a status update's metadata that has the agent's action.
const eventKey = "batch/event"

// shown sends an event of the agent to the caller, if it is meant for callers: texts, tool calls and
// their results. Artifacts and the end of a turn are sent once they are durable.
func (c *conversation) shown(t *task, e agent.Event) {
	hide := c.s.c.Mask
	switch e.Type {
	case agent.EventReply, agent.EventProbed:
		if text := e.Said(); text != "" {
			c.update(t, e.Time, map[string]any{"kind": "text"}, cut(hide(text), maxText))
		}
		c.update(t, e.Time, map[string]any{"kind": "usage", "step": e.Step, "cost": e.Cost}, "")
	case agent.EventAction:
		c.update(t, e.Time, map[string]any{"kind": "tool_call", "tool": e.Tool, "command": cut(hide(e.Command), maxShown)}, "")
	case agent.EventOutput:
		o := e.Output
		c.update(t, e.Time, map[string]any{
			"kind": "tool_result", "exit_code": o.ExitCode, "timed_out": o.TimedOut, "output": cut(hide(o.Text()), maxShown),
		}, "")
	default:
		if note := e.Note(); note != "" {
			c.update(t, e.Time, map[string]any{"kind": "status", "note": cut(hide(note), maxShown)}, "")
		}
	}
}

// update sends words of the agent or something that it does.
func (c *conversation) update(t *task, at time.Time, does map[string]any, words string) {
	said := t.says(words)
	c.mu.Lock()
	defer c.mu.Unlock()
	at = at.UTC()
	status := a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: &at, Message: said}
	t.status.Timestamp = &at
	if said != nil {
		t.status.Message = said
	}
	t.send(&a2a.TaskStatusUpdateEvent{TaskID: t.id, ContextID: c.id, Status: status, Metadata: map[string]any{eventKey: does}})
}
