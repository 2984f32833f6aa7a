package session_test

import (
	"testing"

	"batch.example/batch/attempt/session"
	"batch.example/batch/vocab"
)

// A reply of unknown cost ends the turn that it belongs to, since the turn may have reached its
// limit. Later turns have a limit of their own.
func TestACostThatIsNotKnownEndsItsTurnOnly(t *testing.T) {
	k := newScene(t, tools(), runs("1"), runs("2"), runs("3"), says("done"), runs("4"), says("done"), runs("5"), says("done"))
	k.limit = 10
	turn := func() session.Result {
		var res *session.Result
		k.with(func(s *session.Session) {
			var err error
			if res, err = s.Turn(k.Context(), session.Input{Words: "continue", Model: k.model, Env: k.env}); err != nil {
				t.Fatal(err)
			}
		})
		return *res
	}
	turn()
	before := len(k.model.asked)
	k.model.unknown = true
	if res := turn(); res.Ending.Status != vocab.StatusLimitsExceeded || len(k.model.asked) != before+1 {
		t.Errorf("the turn ended as %s after %d calls, want %s after 1", res.Ending.Status, len(k.model.asked)-before, vocab.StatusLimitsExceeded)
	}
	k.model.unknown = false
	if res := turn(); res.Ending.Status != vocab.StatusAnswered {
		t.Errorf("the next turn ended as %s", res.Ending.Status)
	}
}
