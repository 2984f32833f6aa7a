package attempt

import (
	"encoding/json"
	"log/slog"
	"slices"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/dataset"
	"batch.example/batch/journal"
	"batch.example/batch/results"
)

// mouths has messages for one instance.
type mouths struct {
	said  []Said
	heard []string
}

func (m *mouths) Said(string) []Said { return m.said }

func (m *mouths) Heard(_, id string) { m.heard = append(m.heard, id) }

func hearer(m *mouths, past *journal.History) *attempt {
	t := &attempt{
		Config: Config{Ears: m}, in: dataset.Instance{ID: "a"}, past: past, log: slog.New(slog.DiscardHandler),
		result: &results.Result{},
	}
	t.recallSaid()
	return t
}

func TestAMessageIsInTheConversationOnce(t *testing.T) {
	m := &mouths{said: []Said{{ID: "1", Text: "one", By: "ann"}, {ID: "2", Text: "two", By: "ann"}}}
	a := hearer(m, nil)
	stop := a.interjection()
	if stop == nil || len(stop.Messages) != 2 || stop.Messages[0].Text() != "one" || stop.Messages[0].Extra["command"] != "1" || stop.Messages[0].Extra["person"] != "ann" {
		t.Fatalf("%+v", stop)
	}
	if again := a.interjection(); again != nil {
		t.Errorf("again: %+v", again)
	}
	if len(m.heard) != 0 {
		t.Error("heard before a request has the messages")
	}
	a.hear(agent.Event{Type: agent.EventRequest})
	if !slices.Equal(m.heard, []string{"1", "2"}) || a.result.Record.Said != 2 {
		t.Errorf("heard %v, said %d", m.heard, a.result.Record.Said)
	}
}

func TestNoMessageComesBetweenTheTriesOfACall(t *testing.T) {
	m := &mouths{}
	a := hearer(m, nil)
	a.hear(agent.Event{Type: agent.EventRequest})
	m.said = []Said{{ID: "1"}}
	a.hear(agent.Event{Type: agent.EventRepeat})
	if stop := a.interjection(); stop != nil {
		t.Errorf("in a call: %+v", stop)
	}
	a.hear(agent.Event{Type: agent.EventReply})
	if a.interjection() == nil {
		t.Error("after the call: nothing")
	}
}

// A crash may come after a request has a message and before that is on record elsewhere.
func TestAMessageInTheJournalIsNotSentAgain(t *testing.T) {
	m := &mouths{said: []Said{{ID: "1"}, {ID: "2"}}}
	a := hearer(m, &journal.History{Messages: []json.RawMessage{
		json.RawMessage(`{"role":"system","content":"s"}`),
		json.RawMessage(`{"role":"user","content":"one","extra":{"command":"1"}}`),
	}})
	if !slices.Equal(m.heard, []string{"1"}) || a.result.Record.Said != 1 {
		t.Errorf("heard %v, said %d", m.heard, a.result.Record.Said)
	}
	stop := a.interjection()
	if stop == nil || len(stop.Messages) != 1 || stop.Messages[0].Extra["command"] != "2" {
		t.Errorf("%+v", stop)
	}
}
