package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"github.com/google/go-cmp/cmp"
)

func started(t *testing.T, id string, s Stores) *Session {
	t.Helper()
	session := NewSession(id, newLoop(t, nil), s)
	if err := session.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return session
}

func TestSessionOverTwoProcesses(t *testing.T) {
	var memory Memory
	stores := Stores{&memory, &memory, &memory}
	first := started(t, "s", stores)
	e := &env{outputs: submitting("one")}
	if _, err := first.Turn(t.Context(), "fix it", Turn{Model: &script{replies: []*llm.Response{ask("1", submit)}}, Env: e}); err != nil {
		t.Fatal(err)
	}
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	second := started(t, "s", stores)
	m := &script{replies: []*llm.Response{ask("2", submit)}}
	e.outputs = submitting("two")
	end, err := second.Turn(t.Context(), "now the tests", Turn{Model: m, Env: e})
	if err != nil || string(end.Submission) != "two" {
		t.Fatalf("%+v, %v", end, err)
	}
	t.Run("the model sees the history without its exits, every call answered", func(t *testing.T) {
		want := []string{"system", "user", "assistant", "tool", "user"}
		if d := cmp.Diff(want, roles(m.asked[0])); d != "" {
			t.Error(d)
		}
		if got := m.asked[0][3].Content; strings.Contains(got, "not executed") {
			t.Errorf("the submission that ran is answered with %q", got)
		}
		if got := m.asked[0][4].Content; got != "now the tests" {
			t.Errorf("the last message says %q", got)
		}
	})
	t.Run("the conversation keeps its exits", func(t *testing.T) {
		want := []string{"system", "user", "assistant", "exit", "tool", "user", "assistant", "exit"}
		if d := cmp.Diff(want, roles(second.Messages())); d != "" {
			t.Error(d)
		}
	})
	t.Run("state and artifacts add up", func(t *testing.T) {
		s := second.State()
		if s.Status != StatusReady || s.Turns != 2 || s.Calls != 2 || s.Cost != 2 || s.Task != "fix it" || s.LastActivity.IsZero() {
			t.Errorf("%+v", s)
		}
		want := []Artifact{{"submission-1.patch", 1, []byte("one")}, {"submission-2.patch", 2, []byte("two")}}
		if d := cmp.Diff(want, second.Artifacts()); d != "" {
			t.Error(d)
		}
	})
	t.Run("a cleared session begins anew", func(t *testing.T) {
		if err := second.Clear(t.Context()); err != nil {
			t.Fatal(err)
		}
		third := started(t, "s", stores)
		if n := len(third.Messages()) + len(third.Artifacts()); n != 0 || third.State().Turns != 0 {
			t.Errorf("%d left, %+v", n, third.State())
		}
	})
}

func TestSessionLifecycle(t *testing.T) {
	s := NewSession("s", newLoop(t, nil), Stores{})
	refused := func(err error, word string) {
		t.Helper()
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v, want one with %q", err, word)
		}
	}
	_, err := s.Turn(t.Context(), "x", Turn{})
	refused(err, "created")
	refused(s.Pause(t.Context()), "created")
	for range 2 {
		if err := s.Start(t.Context()); err != nil || s.State().Status != StatusReady {
			t.Fatalf("%v, %v", s.State(), err)
		}
	}
	if err := s.Pause(t.Context()); err != nil || s.State().Status != StatusPaused {
		t.Fatalf("%v, %v", s.State(), err)
	}
	_, err = s.Turn(t.Context(), "x", Turn{})
	refused(err, "paused")
	if err := s.Start(t.Context()); err != nil || s.State().Status != StatusReady {
		t.Fatalf("%v, %v", s.State(), err)
	}
	for range 2 {
		if err := s.Shutdown(t.Context()); err != nil || s.State().Status != StatusShutdown {
			t.Fatalf("%v, %v", s.State(), err)
		}
	}
	if err := s.Start(t.Context()); err != nil || s.State().Status != StatusReady {
		t.Fatalf("%v, %v", s.State(), err)
	}
}

func TestSessionAfterAnError(t *testing.T) {
	s, broken := started(t, "s", Stores{}), fault.Newf(fault.Transient, "asking: no answer")
	end, err := s.Turn(t.Context(), "fix it", Turn{Model: &script{replies: []*llm.Response{ask("1", "ls")}, err: broken}, Env: &env{}})
	if !errors.Is(err, broken) || end.Status != "TransientFault" || s.State().Status != StatusReady || s.State().Error == "" {
		t.Fatalf("%+v, %v", s.State(), err)
	}
	m := &script{replies: []*llm.Response{ask("2", submit)}}
	end, err = s.Turn(t.Context(), "", Turn{Model: m, Env: &env{outputs: submitting("p")}})
	if err != nil || !end.Submitted || s.State().Error != "" {
		t.Fatalf("%+v, %v", s.State(), err)
	}
	if d := cmp.Diff([]string{"system", "user", "assistant", "tool"}, roles(m.asked[0])); d != "" {
		t.Error(d)
	}
}

// gate lets a test act while a command runs.
type gate struct {
	env
	entered chan struct{}
	leave   func(context.Context)
}

func (g *gate) Execute(ctx context.Context, command string) (Output, error) {
	if g.entered != nil {
		close(g.entered)
		g.entered = nil
		g.leave(ctx)
	}
	return g.env.Execute(ctx, command)
}

func TestSessionWhileBusy(t *testing.T) {
	t.Run("what a person says comes before the next call", func(t *testing.T) {
		s := started(t, "s", Stores{})
		g := &gate{entered: make(chan struct{}), leave: func(context.Context) { s.Interrupt("look at x.c") }}
		g.outputs = submitting("p")
		m := &script{replies: []*llm.Response{ask("1", "ls"), ask("2", submit)}}
		if _, err := s.Turn(t.Context(), "fix it", Turn{Model: m, Env: g}); err != nil {
			t.Fatal(err)
		}
		last := m.asked[1][len(m.asked[1])-1]
		if last.Role != llm.RoleUser || last.Content != "look at x.c" || last.Extra["interrupt_type"] != UserInterruption {
			t.Errorf("the model heard %+v", last)
		}
	})
	t.Run("shutdown cancels the turn and waits for it, a second turn is refused", func(t *testing.T) {
		s, entered := started(t, "s", Stores{}), make(chan struct{})
		g := &gate{entered: entered, leave: func(ctx context.Context) { <-ctx.Done() }}
		ended := make(chan error, 1)
		go func() {
			_, err := s.Turn(context.Background(), "fix it", Turn{Model: &script{replies: []*llm.Response{ask("1", "ls")}}, Env: g})
			ended <- err
		}()
		<-entered
		if _, err := s.Turn(t.Context(), "and", Turn{}); fault.KindOf(err) != fault.Usage {
			t.Errorf("a second turn: %v", err)
		}
		if err := s.Clear(t.Context()); fault.KindOf(err) != fault.Usage {
			t.Errorf("clearing: %v", err)
		}
		if err := s.Shutdown(t.Context()); err != nil || s.State().Status != StatusShutdown {
			t.Errorf("%+v, %v", s.State(), err)
		}
		if err := <-ended; !fault.Canceled(err) {
			t.Errorf("the turn ended with %v", err)
		}
		if n := len(s.Messages()); n != 4 {
			t.Errorf("%d messages kept, want 4", n)
		}
	})
}

func TestSaveWritesWhatIsThere(t *testing.T) {
	var memory Memory
	s := started(t, "s", Stores{&memory, &memory, &memory})
	if err := s.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), "fix it", Turn{
		Model: &script{replies: []*llm.Response{ask("1", submit)}}, Env: &env{outputs: submitting("p")},
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := started(t, "s", Stores{&memory, &memory, &memory})
	if d := cmp.Diff(s.Messages(), again.Messages()); d != "" || len(again.Artifacts()) != 1 || again.State().Turns != 1 {
		t.Errorf("%s %+v", d, again.State())
	}
}
