package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// repeating is a model that fails once before each answer.
type repeating struct{ llm.Model }

func (m repeating) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	req.Repeating(llm.Repeat{Try: 2, Tries: 10, RateLimited: true, Reason: "slow down"})
	return m.Model.Generate(ctx, req)
}

func TestListenersSeeWhatTheRecorderRecordsInTheSameOrder(t *testing.T) {
	j := &journal{}
	var seen []Event
	behind := 0
	listen := func(e Event) {
		seen = append(seen, e)
		if len(j.events) != len(seen) {
			behind++
		}
	}
	end, err := newLoop(t, nil).Run(t.Context(), Turn{
		Model: repeating{&script{replies: []*llm.Response{ask("1", submit)}}}, Env: &env{outputs: submitting("p")},
		Recorder: j, Hooks: Hooks{Listen: []Listener{listen}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range seen {
		types = append(types, string(e.Type))
	}
	const want = "messages request repeat reply messages action output interrupt messages end"
	if got := strings.Join(types, " "); got != want || behind > 0 {
		t.Errorf("heard %s, %d events before they were recorded; want %s", got, behind, want)
	}
	if again := seen[2]; again.Step != 1 || again.Repeat.Try != 2 || !again.Repeat.RateLimited || again.Time.IsZero() {
		t.Errorf("the failed call was reported as %+v, want step 1, try 2, a rate limit and a time", again)
	}
	if a := seen[5]; a.Tool != "bash" || a.CallID != "1" || a.Action != 1 {
		t.Errorf("the action was reported as %+v, want tool bash, call 1, action 1", a)
	}
	if last := seen[9]; last.Ending != end || last.Err != nil || last.Step != 1 || last.Cost != 1 || len(last.Ending.Messages) == 0 {
		t.Errorf("the end was reported as %+v, want what Run returns", last)
	}
}

func TestNothingThatWasNotRecordedIsHeardExceptTheEnd(t *testing.T) {
	broken := errors.New("disk full")
	for _, c := range []struct {
		fails EventType
		want  string
	}{
		{EventRequest, "messages messages end"},
		{EventAction, "messages request reply messages messages end"},
		{EventEnd, "messages request reply messages action output interrupt messages end"},
	} {
		t.Run(string(c.fails), func(t *testing.T) {
			var types []string
			var last Event
			_, err := newLoop(t, nil).Run(t.Context(), Turn{
				Model: &script{replies: []*llm.Response{ask("1", submit)}}, Env: &env{outputs: submitting("p")},
				Recorder: &journal{failAt: c.fails, err: broken},
				Hooks:    Hooks{Listen: []Listener{func(e Event) { types, last = append(types, string(e.Type)), e }}},
			})
			if got := strings.Join(types, " "); got != c.want {
				t.Errorf("heard %s, want %s", got, c.want)
			}
			wantErr := broken
			if c.fails == EventEnd {
				wantErr = nil // the run has ended already
			}
			if !errors.Is(err, wantErr) || !errors.Is(last.Err, wantErr) {
				t.Errorf("the run returned %v and reported %v, want %v", err, last.Err, wantErr)
			}
		})
	}
}

func TestACallThatCannotBeRecordedAsRepeatedGoesOn(t *testing.T) {
	end, err := newLoop(t, nil).Run(t.Context(), Turn{
		Model: repeating{&script{replies: []*llm.Response{ask("1", submit)}}}, Env: &env{outputs: submitting("p")},
		Recorder: &journal{failAt: EventRepeat, err: errors.New("disk full")},
	})
	if err != nil || end.Status != vocab.StatusSubmitted {
		t.Errorf("got %v, %v; want %v", end.Status, err, vocab.StatusSubmitted)
	}
}

func TestListenersNeedNoRecorder(t *testing.T) {
	var order []string
	hear := func(who string) Listener {
		return func(e Event) { order = append(order, who+string(e.Type)) }
	}
	if _, err := newLoop(t, nil).Run(t.Context(), Turn{
		Model: &script{replies: []*llm.Response{ask("1", submit)}}, Env: &env{outputs: submitting("p")}, Hooks: Hooks{Listen: []Listener{hear("a "), hear("b ")}},
	}); err != nil {
		t.Fatal(err)
	}
	if len(order) != 18 || order[2] != "a request" || order[3] != "b request" {
		t.Errorf("heard %q; want each of 9 events twice, in the order of the listeners", order)
	}
}
