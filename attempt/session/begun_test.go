package session_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/vocab"
)

// broken is an environment that has started a command and lost the connection.
type broken struct {
	*commands
	ids []string
	err error
}

// Execute implements [session.Environment].
func (b *broken) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	if b.ids = append(b.ids, id); b.err != nil {
		return vocab.Output{}, b.err
	}
	return b.commands.Execute(ctx, id, command)
}

// An action that had begun when its turn failed is requested by its id, without an approval, where
// the caller says that its result is known.
func TestAnActionThatHadBegunIsRequestedByItsID(t *testing.T) {
	k := newScene(t, tools(), runs("echo a"), runs("echo b"), says("done"))
	env := &broken{commands: k.env, err: errors.New("lost")}
	var approved, begun []string
	input := func(words string) session.Input {
		in := k.input(words)
		in.Env = env
		in.Approve = func(_ context.Context, _ string, c agent.Call) error {
			approved = append(approved, c.Command)
			return nil
		}
		in.Begun = func(_ context.Context, _ string, c agent.Call) error { begun = append(begun, c.Command); return nil }
		return in
	}
	k.with(func(s *session.Session) {
		if _, err := s.Turn(t.Context(), input("begin")); !errors.Is(err, env.err) {
			t.Fatalf("%v, want %v", err, env.err)
		}
	})
	env.err = nil
	k.say(input(""))
	if want := []string{"1.1", "1.1", "2.1"}; !slices.Equal(env.ids, want) {
		t.Errorf("requested %q, want %q", env.ids, want)
	}
	if want := []string{"echo a", "echo b"}; !slices.Equal(approved, want) || !slices.Equal(begun, want[:1]) {
		t.Errorf("approved %q, begun before %q; want %q, and the first one", approved, begun, want)
	}
}
