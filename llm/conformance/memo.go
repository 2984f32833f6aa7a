package conformance

import (
	"encoding/json"
	"io"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/llm/internal/history"
)

// Step is one request of a conversation, and the function that encodes it.
type Step struct {
	Encode  func(*llm.Request) (history.Body, error)
	Request llm.Request
}

// Memo checks that requests encoded with a shared memo equal those encoded without one, whatever happened to
// the conversation in between, and that no step changes the bytes of an earlier one.
func Memo(t *testing.T, steps []Step) {
	t.Helper()
	var memo llm.Memo
	kept, want := make([]history.Body, len(steps)), make([]string, len(steps))
	for i, s := range steps {
		want[i] = s.Sent(t)
		s.Request.Memo = &memo
		kept[i] = s.body(t)
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

// Sent returns the JSON that is sent to the server.
func (s Step) Sent(t testing.TB) string {
	t.Helper()
	return sent(t, s.body(t))
}

func (s Step) body(t testing.TB) history.Body {
	t.Helper()
	body, err := s.Encode(&s.Request)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func sent(t testing.TB, body history.Body) string {
	t.Helper()
	text, err := io.ReadAll(body.Reader())
	if err != nil || !json.Valid(text) {
		t.Fatalf("the request is %s (%v), want JSON", text, err)
	}
	return string(text)
}
