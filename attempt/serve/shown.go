package serve

import (
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/agent"
)

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
