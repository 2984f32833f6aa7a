package conformance

import (
	"encoding/json"
	"io"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// Step is one request of a conversation, and what encodes it.
type Step struct {
	Encode  func(*llm.Request) (history.Body, error)
	Request llm.Request
}

// Memo holds that steps which share a memo are the bytes that they are without one,
// whatever happened to the conversation in between, and that none changes one before it.
func Memo(t *testing.T, steps []Step) {
	t.Helper()
	var memo llm.Memo
	kept, want := make([]history.Body, len(steps)), make([]string, len(steps))
	for i, s := range steps {
		want[i] = sent(t, encoded(t, s))
		s.Request.Memo = &memo
		kept[i] = encoded(t, s)
		if got := sent(t, kept[i]); got != want[i] {
			t.Errorf("step %d:\ngot  %s\nwant %s", i, got, want[i])
		}
	}
	for i, body := range kept {
		if got := sent(t, body); got != want[i] {
			t.Errorf("the request of step %d is now %s, want %s as before", i, got, want[i])
		}
	}
}

func encoded(t *testing.T, s Step) history.Body {
	t.Helper()
	body, err := s.Encode(&s.Request)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// sent is what goes to the server.
func sent(t *testing.T, body history.Body) string {
	t.Helper()
	text, err := io.ReadAll(body.Reader())
	if err != nil || !json.Valid(text) {
		t.Fatalf("the request is %s (%v), want JSON", text, err)
	}
	return string(text)
}
