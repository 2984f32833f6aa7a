package attempt

import (
	"encoding/json"

	"batch.example/batch/agent"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// Said is a message of a person for the agent of an instance, from outside the run.
type Said struct {
	ID   string // names the message
	Text string
	By   string // who sent it
}

// Ears has the messages of people for the attempts of a run. A message is part of an attempt once
// a request with it is in the journal: then Heard is called, perhaps again after a crash. Its
// methods are called from many goroutines at once.
type Ears interface {
	Said(instance string) []Said // the messages that are not heard yet, oldest first
	Heard(instance, id string)
}

// The members of a message's extra that say where it comes from.
const (
	extraCommand = "command" // the id of the message
	extraPerson  = "person"  // who sent it
)

// hearing is the state of the messages of people in one attempt.
type hearing struct {
	ears    Ears // nil: no one speaks
	known   map[string]bool
	fresh   []string // ids in the conversation, without a request yet
	calling bool     // a request was recorded that is not answered yet
}

// recallSaid finds the messages of people in the conversation of an attempt that is resumed.
func (t *attempt) recallSaid() {
	t.hearing = hearing{ears: t.Ears, known: map[string]bool{}}
	if t.past == nil {
		return
	}
	for _, raw := range t.past.Messages {
		var m struct {
			Extra struct {
				Command string `json:"command"`
			} `json:"extra"`
		}
		if json.Unmarshal(raw, &m) == nil && m.Extra.Command != "" {
			t.hearing.add(m.Extra.Command)
			t.heardBy(m.Extra.Command)
		}
	}
	t.result.Record.Said = len(t.hearing.known)
}

func (h *hearing) add(id string) { h.known[id] = true }

func (t *attempt) heardBy(id string) {
	if t.hearing.ears != nil {
		t.hearing.ears.Heard(t.in.ID, id)
	}
}

// hear follows the events of the agent.
func (t *attempt) hear(e agent.Event) {
	switch e.Type {
	case agent.EventRequest, agent.EventProbe:
		t.hearing.calling = true
		if e.Type == agent.EventProbe {
			return
		}
		for _, id := range t.hearing.fresh {
			t.heardBy(id)
		}
		t.hearing.fresh = nil
	case agent.EventRepeat, agent.EventTry, agent.EventWarning:
	default:
		t.hearing.calling = false
	}
}

// interjection returns an interrupt with the messages of people that the agent has not read yet;
// nil: there are none, or a call is being made.
func (t *attempt) interjection() *agent.Interrupt {
	h := &t.hearing
	if h.ears == nil || h.calling {
		return nil
	}
	var list []llm.Message
	for _, s := range h.ears.Said(t.in.ID) {
		if h.known[s.ID] {
			continue
		}
		h.add(s.ID)
		h.fresh = append(h.fresh, s.ID)
		m := agent.Interrupted(s.Text).Messages[0]
		m.Extra[extraCommand], m.Extra[extraPerson] = s.ID, s.By
		list = append(list, m)
		t.log.Info("a person's message", "instance", t.in.ID, "command", s.ID, "by", s.By)
	}
	t.result.Record.Said = len(h.known)
	if len(list) == 0 {
		return nil
	}
	return &agent.Interrupt{Name: vocab.StatusUserInterruption, Messages: list}
}
