package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"batch.example/batch/llm"
)

// failing is a Memory of which one method does not work.
type failing struct {
	Memory
	at string
}

var errStore = errors.New("the store is away")

func (f *failing) check(method string) error {
	if method == f.at {
		return errStore
	}
	return nil
}

func (f *failing) LoadMessages(ctx context.Context, id string) ([]llm.Message, error) {
	m, _ := f.Memory.LoadMessages(ctx, id)
	return m, f.check("load messages")
}

func (f *failing) LoadArtifacts(ctx context.Context, id string) ([]Artifact, error) {
	a, _ := f.Memory.LoadArtifacts(ctx, id)
	return a, f.check("load artifacts")
}

func (f *failing) LoadState(ctx context.Context, id string) (*State, error) {
	s, _ := f.Memory.LoadState(ctx, id)
	return s, f.check("load state")
}

func (f *failing) SaveMessages(ctx context.Context, id string, messages []llm.Message) error {
	return errors.Join(f.check("save messages"), f.Memory.SaveMessages(ctx, id, messages))
}

func (f *failing) SaveArtifacts(ctx context.Context, id string, artifacts []Artifact) error {
	return errors.Join(f.check("save artifacts"), f.Memory.SaveArtifacts(ctx, id, artifacts))
}

func (f *failing) SaveState(ctx context.Context, id string, s State) error {
	return errors.Join(f.check("save state"), f.Memory.SaveState(ctx, id, s))
}

func TestASessionThatCannotBeLoadedIsNotStarted(t *testing.T) {
	for _, at := range []string{"load messages", "load artifacts", "load state"} {
		store := &failing{at: at}
		s := NewSession("s-1", newLoop(t, nil), Stores{store, store, store})
		if err := s.Start(t.Context()); !errors.Is(err, errStore) || !strings.Contains(err.Error(), "s-1") {
			t.Errorf("%s: %v", at, err)
		}
		if state := s.State(); state.Status != StatusCreated || state.Error == "" {
			t.Errorf("%s: %+v", at, state)
		}
		store.at = ""
		if err := s.Start(t.Context()); err != nil || s.State().Status != StatusReady {
			t.Errorf("%s: later %v, %+v", at, err, s.State())
		}
	}
}

func TestWhatCannotBeSavedIsTold(t *testing.T) {
	for _, at := range []string{"save messages", "save artifacts", "save state"} {
		store := &failing{}
		s := started(t, "s-1", Stores{store, store, store})
		store.at = at
		end, err := s.Turn(t.Context(), "fix it", Turn{Model: &script{replies: []*llm.Response{ask("1", submit)}}, Env: &env{outputs: submitting("p")}})
		if end == nil || !end.Submitted || s.State().Status != StatusReady {
			t.Errorf("%s: the turn's ending is lost: %+v, %+v", at, end, s.State())
		}
		for what, err := range map[string]error{
			"a turn": err, "saving": s.Save(t.Context()), "clearing": s.Clear(t.Context()), "pausing": s.Pause(t.Context()), "shutting down": s.Shutdown(t.Context()),
		} {
			if !errors.Is(err, errStore) || !strings.Contains(err.Error(), "s-1") {
				t.Errorf("%s, %s: %v", at, what, err)
			}
		}
	}
}

func TestAllThatIsSaidIsHeardOnceAndInOrder(t *testing.T) {
	s := started(t, "s", Stores{})
	for _, words := range []string{"one", "two", "three"} {
		s.Interrupt(words)
	}
	admitted := 0
	m := &script{replies: []*llm.Response{ask("1", "ls"), ask("2", submit)}}
	if _, err := s.Turn(t.Context(), "fix it", Turn{
		Model: m, Env: &env{outputs: submitting("p")}, Admit: func() error { admitted++; return nil },
	}); err != nil {
		t.Fatal(err)
	}
	var heard []string
	for _, message := range s.Messages() {
		if message.Extra["interrupt_type"] == UserInterruption {
			heard = append(heard, message.Role+" "+message.Content)
		}
	}
	if got := strings.Join(heard, ", "); got != "user one, user two, user three" || len(m.asked[0]) != 5 || admitted != 2 {
		t.Errorf("heard %s; the first request has %d messages; %d calls were admitted", got, len(m.asked[0]), admitted)
	}
}

func TestClearingForgetsWhatWasSaidToo(t *testing.T) {
	created := NewSession("s", newLoop(t, nil), Stores{})
	if err := created.Clear(t.Context()); err == nil {
		t.Error("a session that was not started is cleared")
	}
	s := started(t, "s", Stores{})
	if _, err := s.Turn(t.Context(), "fix it", Turn{Model: &script{}, Env: &env{}}); !errors.Is(err, errScriptEnd) {
		t.Fatal(err)
	}
	s.Interrupt("stop")
	if err := s.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state := s.State(); state.Task != "" || state.Turns != 0 || state.Error != "" || len(s.Messages()) > 0 {
		t.Errorf("%+v", state)
	}
	m := &script{replies: []*llm.Response{ask("1", submit)}}
	if _, err := s.Turn(t.Context(), "another", Turn{Model: m, Env: &env{outputs: submitting("")}}); err != nil {
		t.Fatal(err)
	}
	if len(m.asked) != 1 || len(m.asked[0]) != 2 || !strings.Contains(m.asked[0][1].Content, "another") {
		t.Errorf("the model was asked %+v", m.asked)
	}
}

func TestALoopNeedsBothFirstTemplates(t *testing.T) {
	for _, c := range []Config{{}, {SystemTemplate: "s"}, {InstanceTemplate: "i"}} {
		if _, err := NewLoop(c); err == nil || !strings.Contains(err.Error(), "needs a system_template and an instance_template") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
