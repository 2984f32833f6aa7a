package serve

import (
	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/session"
)

// eventKey is the member of a status update's metadata that has the agent's action.
const eventKey = "batch/event"

// shown sends an event of a turn to the caller, if it is meant for callers: texts, tool calls and
// their results. Artifacts and the end are sent once they are durable.
func (c *conversation) shown(t *task, e session.Event) {
	meta := map[string]any{"kind": string(e.Kind)}
	var said *a2a.Message
	switch e.Kind {
	case session.KindText:
		said = t.says(cut(c.s.c.Mask(e.Text), maxText))
	case session.KindToolCall:
		meta["tool"], meta["command"] = e.Tool, cut(c.s.c.Mask(e.Command), maxShown)
	case session.KindToolResult:
		meta["exit_code"], meta["timed_out"] = e.ExitCode, e.TimedOut
		meta["output"] = cut(c.s.c.Mask(e.Output), maxShown)
	case session.KindUsage:
		meta["step"], meta["cost"] = e.Step, e.Cost
	case session.KindStatus, session.KindArtifact:
		if e.Note == "" {
			return
		}
		meta["note"] = cut(c.s.c.Mask(e.Note), maxShown)
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := e.Time.UTC()
	status := a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: &at, Message: said}
	t.status.Timestamp = &at
	if said != nil {
		t.status.Message = said
	}
	t.send(&a2a.TaskStatusUpdateEvent{TaskID: t.id, ContextID: c.id, Status: status, Metadata: map[string]any{eventKey: meta}})
}
