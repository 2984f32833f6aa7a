package session

import (
	"slices"
	"strconv"

	"batch.example/batch/journal"
)

// MessagesOf returns the messages that q chooses from the conversation in records.
func MessagesOf(h *journal.History, q Query) (list []Message, err error) {
	for i, raw := range slices.Concat(h.Messages, h.Later) {
		n := h.TurnOf(i)
		if n > 0 && h.Turns[n-1].Began.Before(q.Since) {
			continue
		}
		m, err := message(raw)
		if err != nil {
			return nil, err
		}
		list = append(list, Message{m, n})
	}
	if q.Last > 0 && len(list) > q.Last {
		list = list[len(list)-q.Last:]
	}
	return list, nil
}

// artifactsOf returns the artifacts in records, in the order in which they were last saved.
func artifactsOf(h *journal.History) (list []Artifact) {
	for _, a := range h.Artifacts {
		list = slices.DeleteFunc(list, func(old Artifact) bool { return old.Name == a.Name })
		list = append(list, Artifact{Name: a.Name, MediaType: a.MediaType, Data: a.Data, Turn: a.Turn, Saved: a.Saved})
	}
	return list
}

// StateOf returns the state of the session with a context id from its records; ok is false
// for a new one. A running turn looks the same as an interrupted one.
func StateOf(id string, h *journal.History) (st State, ok bool) {
	if h.Session == nil && len(h.Turns) == 0 {
		return State{}, false
	}
	st = State{ContextID: id, Status: Shutdown, Turns: len(h.Turns), Created: h.Started, LastActivity: h.Started}
	if d := h.Session; d != nil {
		st.Metadata = d.Metadata
		if d.Status != "" {
			st.Status = Status(d.Status)
		}
	}
	for _, step := range h.Steps {
		if step.Reply != nil {
			st.Calls++
			st.Cost += step.Reply.Cost
		}
	}
	for i := range h.Summaries {
		st.Cost += h.Summaries[i].Reply.Cost
	}
	t := h.Turn()
	if t == nil {
		return st, true
	}
	st.LastActivity, st.Retry = t.Began, t.Open()
	switch {
	case t.End != nil:
		if st.LastActivity = t.Ended; st.Retry {
			st.Error = t.End.Error
		}
	case st.Retry:
		st.Error = "turn " + strconv.Itoa(t.TurnData.Turn) + " was interrupted"
	}
	return st, true
}
