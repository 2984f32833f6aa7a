package session_test

import (
	"testing"

	"batch.example/batch/agent/compaction"
	"batch.example/batch/session"
	"batch.example/batch/vocab"
)

// A reply of unknown cost ends the turn that it belongs to, since the turn may have reached its
// limit. Later turns have a limit of their own.
func TestACostThatIsNotKnownEndsItsTurnOnly(t *testing.T) {
	summarize := func(t *testing.T) session.Input {
		return session.Input{Compact: policy(t, compaction.Config{Policy: compaction.Summarize, Keep: 1}).Now}
	}
	for name, c := range map[string]struct {
		in     func(t *testing.T) session.Input // of the turn with the unknown cost
		status vocab.Status
		calls  int // of that turn
	}{
		"a reply":   {func(*testing.T) session.Input { return session.Input{} }, vocab.StatusLimitsExceeded, 1},
		"a summary": {summarize, vocab.StatusLimitsExceeded, 0},
	} {
		t.Run(name, func(t *testing.T) {
			k := newScene(t, tools(), runs("1"), runs("2"), runs("3"), says("done"), runs("4"), says("done"), runs("5"), says("done"))
			k.limit = 10
			turn := func(in session.Input) *session.Result {
				var res *session.Result
				in.Words, in.Model, in.Env = "continue", k.model, k.env
				k.with(func(s *session.Session) {
					var err error
					if res, err = s.Turn(k.Context(), in); err != nil {
						t.Fatal(err)
					}
				})
				return res
			}
			turn(session.Input{})
			before := len(k.model.asked)
			k.model.unknown = true
			in := c.in(t)
			if res := turn(in); res.Ending.Status != c.status || len(k.model.asked) != before+c.calls {
				t.Errorf("the turn ended as %s after %d calls, want %s after %d", res.Ending.Status, len(k.model.asked)-before, c.status, c.calls)
			}
			if in.Compact != nil && len(k.model.sums) != 1 {
				t.Errorf("it wrote %d summaries", len(k.model.sums))
			}
			k.model.unknown = false
			if res := turn(session.Input{}); res.Ending.Status != vocab.StatusAnswered {
				t.Errorf("the next turn ended as %s", res.Ending.Status)
			}
		})
	}
}
