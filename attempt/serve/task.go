package serve

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"

	"batch.example/batch/journal"
)

// task is a task of the protocol, guarded by its context's mutex.
type task struct {
	c         *conversation
	id        a2a.TaskID
	status    a2a.TaskStatus
	history   []*a2a.Message // the caller's messages, and the agent's last answer to each
	artifacts []artifact
	keyed     bool    // the last message came with credentials
	stream    *stream // while it is under way
}

// artifact locates an artifact in the log.
type artifact struct {
	name  string
	place journal.Place
}

// taskID returns the id of a context's task. It contains the context's id, so that a task is found
// without an index.
func taskID(context string, number int) a2a.TaskID {
	return a2a.TaskID(context + "." + strconv.Itoa(number))
}

// contextOf returns the context of a task.
func contextOf(id a2a.TaskID) string {
	context, _, _ := strings.Cut(string(id), ".")
	return context
}

// TaskInfo implements [a2a.TaskInfoProvider].
func (t *task) TaskInfo() a2a.TaskInfo { return a2a.TaskInfo{TaskID: t.id, ContextID: t.c.id} }

// says returns a message of the agent, or nil without words.
func (t *task) says(words string) *a2a.Message {
	if words == "" {
		return nil
	}
	return a2a.NewMessageForTask(a2a.MessageRoleAgent, t, a2a.TextPart{Text: words})
}

// settle gives the task a durable status.
func (t *task) settle(status a2a.TaskStatus) {
	t.status = status
	if status.Message != nil {
		t.history = append(t.history, status.Message)
	}
}

// made adds an artifact, or replaces one with the same name.
func (t *task) made(name string, at journal.Place) {
	t.artifacts = slices.DeleteFunc(t.artifacts, func(a artifact) bool { return a.name == name })
	t.artifacts = append(t.artifacts, artifact{name, at})
}

// begin lets callers listen to the task.
func (t *task) begin() {
	if t.stream == nil {
		t.stream = newStream()
	}
}

// send sends events to the listeners.
func (t *task) send(events ...a2a.Event) {
	if t.stream != nil {
		t.stream.send(events...)
	}
}

// finish ends the stream with the task's status.
func (t *task) finish() {
	if t.stream == nil {
		return
	}
	t.stream.send(&a2a.TaskStatusUpdateEvent{TaskID: t.id, ContextID: t.c.id, Status: shortened(t.status), Final: true})
	t.stream.end()
	t.stream = nil
}

// shortened shortens the texts of a status so that each fits into an event.
func shortened(status a2a.TaskStatus) a2a.TaskStatus {
	if status.Message == nil {
		return status
	}
	shown := *status.Message
	shown.Parts = slices.Clone(shown.Parts)
	for i, p := range shown.Parts {
		if text, ok := p.(a2a.TextPart); ok {
			text.Text = cut(text.Text, maxText)
			shown.Parts[i] = text
		}
	}
	status.Message = &shown
	return status
}

// now returns the task with its last n messages, or with all if n is nil, and the artifacts that it
// lacks. The caller holds c.mu, for which the agent waits, so that artifacts are read later.
func (t *task) now(n *int) (seen *a2a.Task, made []artifact) {
	seen = &a2a.Task{ID: t.id, ContextID: t.c.id, Status: t.status, History: slices.Clone(t.history)}
	if n != nil {
		seen.History = seen.History[len(seen.History)-max(0, min(*n, len(seen.History))):]
	}
	return seen, slices.Clone(t.artifacts)
}

// read reads artifacts into the task, and returns them.
func (t *task) read(seen *a2a.Task, made []artifact) (list []*product, err error) {
	for _, a := range made {
		p, err := t.c.log.artifact(a.place)
		if err != nil {
			return nil, err
		}
		seen.Artifacts, list = append(seen.Artifacts, p.artifact(p.Data)), append(list, p)
	}
	return list, nil
}

// maxEvent limits the JSON of a stream's first event, in bytes: the SDK's client reads lines of at
// most 64 KiB.
const maxEvent = 48 << 10

// first returns the first events for a listener: the task, without parts that do not fit into one
// event, and then its artifacts.
func (t *task) first(seen *a2a.Task, made []artifact) ([]a2a.Event, error) {
	list, err := t.read(seen, made)
	if err != nil {
		return nil, err
	}
	seen.Status = shortened(seen.Status)
	events := []a2a.Event{seen}
	if fits(seen) {
		return events, nil
	}
	for _, p := range list {
		events = append(events, p.events(t)...)
	}
	seen.Artifacts = nil
	if !fits(seen) {
		seen.History = nil
	}
	return events, nil
}

func fits(t *a2a.Task) bool {
	text, err := json.Marshal(t)
	return err == nil && len(text) <= maxEvent
}
