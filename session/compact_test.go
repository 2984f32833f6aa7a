package session_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/agent"
	"batch.example/batch/agent/compaction"
	"batch.example/batch/fault"
	"batch.example/batch/internal/sample"
	"batch.example/batch/llm"
	"batch.example/batch/session"
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
func notes(events []session.Event) (list []string) {
	for _, e := range events {
		if strings.Contains(e.Note, "the conversation is long") {
			list = append(list, e.Note)
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

// conversations are of agents of several forms: what a person says, and what the model
// answers until the turn ends.
func conversations() map[string]struct {
	form    agent.ActionForm
	words   []string
	answers []llm.Message
} {
	type talks = struct {
		form    agent.ActionForm
		words   []string
		answers []llm.Message
	}
	with, without := talks{form: tools()}, talks{form: agent.ActionForm{Kind: agent.Text}}
	for i := range 6 {
		with.words = append(with.words, fmt.Sprint("words ", i))
		without.words = append(without.words, fmt.Sprint("words ", i))
		for j := range 3 {
			with.answers = append(with.answers, runs(fmt.Sprint("command ", i, " ", j)))
			without.answers = append(without.answers, fenced(fmt.Sprint("command ", i, " ", j)))
		}
		end := says("done")
		if i%2 == 0 {
			end = calls("ask", "question", fmt.Sprint("question ", i))
		}
		with.answers = append(with.answers, end)
		without.answers = append(without.answers, fenced("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"))
	}
	return map[string]talks{"tools and questions": with, "text": without}
}

// A conversation that is kept short is the same whether it is interrupted or not: each of its
// requests fails once, in a session that was opened for it, and is made again in another one.
func TestACompactedSessionSendsTheSameAfterItWasOpenedAgain(t *testing.T) {
	type one struct {
		name string
		of   compaction.Config
	}
	var summaries, others []one // a summary is paid for, so it always runs
	for _, name := range slices.Sorted(maps.Keys(conversations())) {
		for _, of := range []compaction.Config{
			{Policy: compaction.Drop, Messages: 16, Keep: 4},
			{Policy: compaction.Summarize, Messages: 16, Keep: 4},
			{Policy: compaction.Shorten, Limit: 1500, Keep: 4},
			{Policy: compaction.Drop, Limit: 1500, Keep: 4},
			{Policy: compaction.Summarize, Limit: 1500, Keep: 4},
		} {
			if of.Policy == compaction.Summarize {
				summaries = append(summaries, one{name, of})
			} else {
				others = append(others, one{name, of})
			}
		}
	}
	for _, o := range append(sample.Some(t, 1, summaries), sample.Some(t, 2, others)...) {
		c, of := conversations()[o.name], o.of
		t.Run(o.name+" "+policy(t, of).String(), func(t *testing.T) {
			whole := newScene(t, c.form, c.answers...)
			whole.config.Compact = policy(t, of).Rewrite
			whole.with(func(s *session.Session) {
				for _, words := range c.words {
					if _, err := s.Turn(t.Context(), whole.input(words)); err != nil {
						t.Fatal(err)
					}
				}
			})
			if len(whole.model.asked) != len(c.answers) {
				t.Fatalf("made %d calls, want %d", len(whole.model.asked), len(c.answers))
			}
			shorter := 0
			for i := 1; i < len(whole.model.asked); i++ {
				if len(whole.model.asked[i]) < len(whole.model.asked[i-1]) {
					shorter++
				}
			}
			if shorter == 0 {
				t.Fatal("no request was shorter than the one before: nothing was tested")
			}
			if of.Policy == compaction.Summarize && len(whole.model.sums) == 0 {
				t.Fatal("no summary was asked for")
			}

			broken := newScene(t, c.form, c.answers...)
			broken.config.Compact = policy(t, of).Rewrite
			for _, words := range c.words {
				broken.interrupted(broken.input(words), 1)
			}
			if got := pairs(t, broken.model.asked); !slices.Equal(got, whole.model.asked) {
				for i := range min(len(got), len(whole.model.asked)) {
					if got[i] != whole.model.asked[i] {
						t.Fatalf("request %d is\n%s\nwant\n%s", i+1, got[i], whole.model.asked[i])
					}
				}
				t.Fatalf("made %d calls, want %d", len(got), len(whole.model.asked))
			}
			if !slices.Equal(broken.model.sums, whole.model.sums) {
				t.Errorf("paid for %d summaries, want %d", len(broken.model.sums), len(whole.model.sums))
			}
			if !slices.Equal(broken.env.ran, whole.env.ran) {
				t.Errorf("ran %q, want %q", broken.env.ran, whole.env.ran)
			}
			stored := broken.stored()
			for _, words := range c.words {
				if !slices.ContainsFunc(stored, func(m session.Message) bool { return strings.Contains(shown([]llm.Message{m.Message}), words) }) {
					t.Errorf("the messages do not have %q", words)
				}
			}
			if n := strings.Count(shown(messagesOf(stored)), "output of command 0 0"); n != 50 {
				t.Errorf("the messages have %d lines of the first output, want all 50", n)
			}
		})
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
			if want := map[string]int{compaction.Summarize: 1}[name]; len(k.model.sums) != want {
				t.Errorf("paid for %d summaries, want %d", len(k.model.sums), want)
			}
			if n := strings.Count(shown(messagesOf(k.stored())), "output of 1"); n != 50 {
				t.Errorf("the messages have %d lines of the first output, want all 50", n)
			}
		})
	}
}
