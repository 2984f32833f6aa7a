package session_test

import (
	"errors"
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/agent/compaction"
	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
)

func policy(t *testing.T, c compaction.Config) *compaction.Policy {
	t.Helper()
	p, err := compaction.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// notes lists the events about the conversation's length.
func notes(events []agent.Event) (list []string) {
	for _, e := range events {
		if e.Type == agent.EventWarning && strings.Contains(e.Note(), "the conversation is long") {
			list = append(list, e.Note())
		}
	}
	return list
}

func TestALongConversationIsReportedOnceATurnAndLeftAsItIs(t *testing.T) {
	k := newScene(t, tools(), runs("1"), says("a"), runs("2"), runs("3"), says("b"), says("c"))
	k.config = session.Config{MaxMessages: 7}
	if list := notes(k.say(k.input("first"))); list != nil {
		t.Errorf("a short conversation is reported: %q", list)
	}
	list := notes(k.say(k.input("second"))) // 6, 8 and 10 messages
	if len(list) != 1 || !strings.Contains(list[0], "8 messages, about ") {
		t.Errorf("reported %q, want 8 messages, once", list)
	}
	if list := notes(k.say(k.input("third"))); len(list) != 1 || !strings.Contains(list[0], "12 messages") {
		t.Errorf("reported %q, want 12 messages, once", list)
	}
	if n := strings.Count(k.model.asked[5], `"role"`); n != 12 {
		t.Errorf("the last request has %d messages, want all 12: %s", n, k.model.asked[5])
	}
	k.config = session.Config{MaxTokens: 20}
	k.model.answers = append(k.model.answers, says("d"))
	if list := notes(k.say(k.input("fourth"))); len(list) != 1 {
		t.Errorf("reported %q, want the tokens, once", list)
	}
}

// interrupted has a turn in which each call fails so many times before it is answered. Each
// time, the session is opened again.
func (k *scene) interrupted(in session.Input, times int) {
	k.Helper()
	for ended := false; !ended; in.Words = "" {
		failures := 0
		k.model.before = func(int) error {
			if failures++; failures%(times+1) != 0 {
				return fault.Newf(fault.Transient, "the server is gone")
			}
			return nil
		}
		for failures = 0; ; in.Words = "" {
			var err error
			k.with(func(s *session.Session) { _, err = s.Turn(k.Context(), in) })
			if err == nil {
				ended = true
				break
			}
			if fault.KindOf(err) != fault.Transient {
				k.Fatal(err)
			}
		}
	}
	k.model.before = nil
}

// pairs returns every second request; each must be the same as the one before it.
func pairs(t *testing.T, asked []string) (list []string) {
	t.Helper()
	for i := 0; i+1 < len(asked); i += 2 {
		if asked[i] != asked[i+1] {
			t.Fatalf("request %d was made again as\n%s\nwant\n%s", i+1, asked[i+1], asked[i])
		}
		list = append(list, asked[i])
	}
	return list
}

func messagesOf(list []session.Message) (messages []llm.Message) {
	for _, m := range list {
		messages = append(messages, m.Message)
	}
	return messages
}

func TestAPersonCompactsOnceATurn(t *testing.T) {
	for _, name := range compaction.Names {
		t.Run(name, func(t *testing.T) {
			k := newScene(t, tools(), runs("1"), runs("2"), runs("3"), says("a"), runs("4"), runs("5"), says("b"))
			k.say(k.input("first"))
			in := k.input("second")
			in.Compact = policy(t, compaction.Config{Policy: name, Keep: 1}).Now
			k.interrupted(in, 1)
			asked := append(k.model.asked[:4:4], pairs(t, k.model.asked[4:])...)
			if len(asked) != 7 || len(asked[4]) >= len(asked[3]) {
				t.Fatalf("made %d calls, the first of the turn with %d bytes after %d; want 7, and it shorter", len(asked), len(asked[4]), len(asked[3]))
			}
			if !strings.HasPrefix(asked[5], strings.TrimSuffix(asked[4], "]")) || !strings.HasPrefix(asked[6], strings.TrimSuffix(asked[5], "]")) {
				t.Error("a later call of the turn does not continue the first: it was compacted again")
			}
			if n := strings.Count(shown(messagesOf(k.stored())), "output of 1"); n != 50 {
				t.Errorf("the messages have %d lines of the first output, want all 50", n)
			}
		})
	}
}

// The journal of an earlier version may have a summary that the model wrote. It is read, and no turn
// begins until the conversation is forgotten.
func TestASummarizedConversationDoesNotContinue(t *testing.T) {
	k := newScene(t, tools(), runs("1"), says("a"), says("b"))
	k.say(k.input("first"))
	k.with(func(*session.Session) {
		summary := journal.SummaryData{Step: 3, Digest: "d", Reply: journal.ReplyData{Cost: 0.25, Priced: true}}
		if err := k.store.Append(journal.TypeSummary, summary); err != nil {
			t.Fatal(err)
		}
	})
	before := len(k.model.asked)
	k.with(func(s *session.Session) {
		_, err := s.Turn(t.Context(), k.input("second"))
		if !errors.Is(err, session.ErrSummarized) || fault.KindOf(err) != fault.Usage || len(k.model.asked) != before {
			t.Errorf("got %v after %d calls, want %v", err, len(k.model.asked)-before, session.ErrSummarized)
		}
		if list, err := s.Messages(t.Context(), session.Query{}); err != nil || len(list) == 0 || s.State().Cost != 2.25 || s.State().Turns != 1 {
			t.Errorf("%d messages, %+v, %v; want all, one turn, $2.25", len(list), s.State(), err)
		}
		if err := s.Clear(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	k.say(k.input("third"))
}
