package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// The words of a turn that ended at a limit, before its first request, are in the
// conversation: they are not said again.
func TestWordsOfATurnAtALimitAreSaidOnce(t *testing.T) {
	k := newScene(t, tools(), says("one"), says("two"))
	k.say(k.input("first"))
	k.with(func(s *session.Session) {
		in := k.input("second")
		in.Reserve = func(context.Context) (session.Reservation, error) {
			return nil, &agent.Interrupt{Name: vocab.StatusLimitsExceeded, Messages: []llm.Message{{
				Role: llm.RoleExit, Extra: map[string]any{"exit_status": string(vocab.StatusLimitsExceeded)},
			}}}
		}
		if res, err := s.Turn(t.Context(), in); err != nil || res.End != journal.TurnMaxIterations || len(k.model.asked) != 1 {
			t.Fatalf("got %+v, %v after %d requests; want it at a limit before the second", res, err, len(k.model.asked))
		}
	})
	k.say(k.input("third"))
	if last := k.model.asked[1]; strings.Count(last, "second") != 1 || strings.Count(last, "third") != 1 {
		t.Errorf("the model was asked %s, want both words once", last)
	}
}

// A turn is canceled at each of its events, and at each call and action, and then there are
// new words, or it is tried again: in the last request, all words stand once, and each call
// has one answer.
func TestATurnThatIsCanceledAnywhereLosesNoWords(t *testing.T) {
	for _, words := range []string{"", "next"} {
		points := 1
		for n := 0; n < points; n++ {
			k := newScene(t, tools(), says("one"), runs("a"), runs("b"), says("two"))
			k.say(k.input("first"))
			ctx, cancel := context.WithCancel(t.Context())
			count := 0
			at := func() {
				if count++; count == n {
					cancel()
				}
			}
			k.model.before = func(int) error { at(); return ctx.Err() }
			k.env.after = func(string) { at() }
			k.with(func(s *session.Session) {
				in := k.input("second")
				in.Listen = []agent.Listener{func(agent.Event) { at() }}
				_, _ = s.Turn(ctx, in) // it may have ended before
				points = max(points, count+2)
			})
			cancel()
			k.model.before, k.env.after = nil, nil
			open := false
			k.with(func(s *session.Session) { open = s.State().Retry })
			if words == "" && !open {
				continue // it has ended
			}
			k.model.answers = append(k.model.answers, says("three"), says("four"))
			k.say(k.input(words))
			last := k.model.asked[len(k.model.asked)-1]
			for _, said := range []string{"first", "second", words} {
				if said != "" && strings.Count(last, said) != 1 {
					t.Errorf("canceled at point %d, then %q: %q is said %d times in %s", n, words, said, strings.Count(last, said), last)
				}
			}
			if calls, answers := strings.Count(last, `"tool_calls"`), strings.Count(last, `"tool_call_id"`); calls != answers {
				t.Errorf("canceled at point %d, then %q: %d calls have %d answers: %s", n, words, calls, answers, last)
			}
		}
		if points < 10 {
			t.Errorf("there are only %d points", points)
		}
	}
}

// Words with which a turn could not be begun may be in the store or not: said again, they
// reach the model once.
func TestWordsThatCouldNotBeSavedAreSaidAgainOnce(t *testing.T) {
	for name, f := range map[string]full{"not durable": {sync: errors.New("full")}, "not readable": {read: errors.New("broken")}} {
		k := newScene(t, tools(), says("one"), says("two"), says("three"))
		k.say(k.input("first"))
		store, err := openIn(k.dir, "context")
		must(t, err)
		broken := &full{Store: store}
		s := session.New(session.Config{ContextID: "context", Store: broken, Loop: k.loop()})
		must(t, s.Start(t.Context()))
		broken.sync, broken.read = f.sync, f.read
		for range 2 {
			if _, err := s.Begin(t.Context(), k.input("second")); err == nil {
				t.Fatalf("%s: a turn began", name)
			}
		}
		broken.sync, broken.read = nil, nil
		if res, err := s.Turn(t.Context(), k.input("second")); err != nil || res.Turn != 2 {
			t.Errorf("%s: got %+v, %v; want the second turn", name, res, err)
		}
		if last := k.model.asked[1]; strings.Count(last, "second") != 1 {
			t.Errorf("%s: the words are not said once: %s", name, last)
		}
		if res, err := s.Turn(t.Context(), k.input("second")); err != nil || res.Turn != 3 { // a person may repeat himself
			t.Errorf("%s: got %+v, %v; want the third turn", name, res, err)
		}
		must(t, s.Shutdown(t.Context()))
		must(t, store.Close())
	}
}
