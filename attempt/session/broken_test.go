package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/vocab"
)

// The disk is full in the middle of a turn, each time at another point. The turn fails with the
// disk's fault. When there is room again, the same session tries the turn again: nothing is asked or
// done twice, and what was answered in between is kept.
func testAFullDiskFailsTheTurnAndLosesNothing(t *testing.T, begin beginning) {
	for _, point := range []string{"call 1", "action 1", "call 2", "action 2", "call 3"} {
		t.Run(point, func(t *testing.T) {
			c := begin(t, bash("one"), bash("two"), say("done"))
			loop, err := newLoop()
			must(t, err)
			disk := &full{Store: c.store}
			c.Session = session.New(session.Config{ContextID: c.id, Store: disk, Loop: loop})
			must(t, c.Start(t.Context()))
			did := map[string]int{}
			at := func(name string) {
				if did[name]++; name == point {
					disk.flush = fault.Newf(fault.Host, "the disk is full").WithHint("make room")
					disk.sync = disk.flush
				}
			}
			c.model.before = func() { at(fmt.Sprint("call ", did["calls"]+1)); did["calls"]++ }
			c.env.before = func() { at(fmt.Sprint("action ", did["actions"]+1)); did["actions"]++ }
			for _, words := range []string{"work", ""} {
				res, err := c.Turn(t.Context(), c.input(words))
				if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" || res != nil && res.End != journal.TurnFailed {
					t.Fatalf("on a full disk: %+v, %v (%s); want a failed turn, a Host fault with a hint", res, err, fault.HintOf(err))
				}
			}
			disk.flush, disk.sync = nil, nil
			if res := c.say("", journal.TurnFinished); res.Turn != 1 || res.Answer != "done" {
				t.Errorf("the last try: %+v", res)
			}
			if did["calls"] != 3 || did["actions"] != 2 {
				t.Errorf("%d calls and %d actions, want 3 and 2: %v", did["calls"], did["actions"], did)
			}
			want := c.said(session.Query{})
			c.again()
			if got := c.said(session.Query{}); strings.Join(got, "|") != strings.Join(want, "|") || c.State().Calls != 3 {
				t.Errorf("opened again, %d messages are %d, and the state is %+v", len(want), len(got), c.State())
			}
		})
	}
}

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
