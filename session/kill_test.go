package session_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"batch.example/batch/journal"
	"batch.example/batch/session"
)

// killed leads a conversation of three turns again and again, each time in a process that is
// killed at another of the points that choose takes: before an operation of the store, before
// a call, and before and after an action. Another process continues it. The conversation
// must be the same as one without an interruption; nothing that is in the journal may be
// asked or done again. A turn that has ended before its process dies is kept.
func killed(t *testing.T, s stores, choose func(points []int) []int) {
	s.survives(t)
	whole := s.talk(t, "whole", 0)
	if len(whole.asked) != len(script) || len(whole.called) != 6 {
		t.Fatalf("without an interruption, there were %d calls of the model and %d actions: %q", len(whole.asked), len(whole.called), whole.called)
	}
	t.Logf("%d points", whole.points)
	points := make([]int, whole.points)
	for i := range points {
		points[i] = i + 1
	}
	for _, n := range choose(points) {
		t.Run(fmt.Sprintf("point %d", n), func(t *testing.T) {
			t.Parallel()
			got := s.talk(t, fmt.Sprintf("killed-%d", n), n)
			if diff := cmp.Diff(whole.result, got.result); diff != "" {
				t.Errorf("the session has changed (-uninterrupted +resumed):\n%s", diff)
			}
			wantParts(t, "the model was asked", got.asked, got.later.asked, whole.asked, got.answered)
			wantParts(t, "actions were started", got.called, got.later.called, whole.called, got.outputs)
			if diff := cmp.Diff(whole.ran, got.later.ran); diff != "" {
				t.Errorf("other actions ran (-uninterrupted +resumed):\n%s", diff)
			}
		})
	}
}

// wantParts checks the parts that were done before and after a kill. The journal had known
// parts then: one more may have been done, and the second process does the rest.
func wantParts(t *testing.T, what string, before, after, want []string, known int) {
	t.Helper()
	if n := len(before); n < known || n > known+1 || !slices.Equal(before, want[:n]) {
		t.Errorf("before the kill, %s %d times, %d of them known:\n%s", what, n, known, strings.Join(before, "\n"))
	}
	if diff := cmp.Diff(want[known:], after, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("after the kill, %s (-unknown +done):\n%s", what, diff)
	}
}

// survives has a turn in a process that dies after it.
func (s stores) survives(t *testing.T) {
	m := &model{replies: script}
	start(t, task{Place: s.place, ID: "survives", Dir: t.TempDir(), URL: m.serve(t), Once: true}, true)
	store := s.opened(t, "survives")
	defer store.Close()
	h, err := store.HistoryHere()
	st, ok := session.StateOf("survives", h)
	if err != nil || !ok || st.Retry || st.Turns != 1 || st.Calls != 3 {
		t.Errorf("got %+v, %v, %v", st, ok, err)
	}
}

// conversation has the measures of a conversation that ran without a kill.
type conversation struct {
	points   int
	result   result
	done     // in the first process
	later    done
	answered int // calls that are in the journal after the first process
	outputs  int // of actions, in that journal
}

type done struct{ asked, called, ran []string }

// result is the content of a session, without times.
type result struct {
	Messages  []string
	Artifacts []string
	State     string
	Ends      []journal.TurnEndData
}

// talk leads a conversation in a process that dies at a point, if that is not 0, and then in
// another one.
func (s stores) talk(t *testing.T, id string, killAt int) conversation {
	t.Helper()
	m := &model{replies: script}
	c := task{Place: s.place, ID: id, Dir: t.TempDir(), URL: m.serve(t), KillAt: killAt}
	var r conversation
	take := func(from done) done {
		called := linesOf(t, filepath.Join(c.Dir, calledFile))
		return done{m.take(), called[len(from.called):], linesOf(t, filepath.Join(c.Dir, ranFile))}
	}
	said := start(t, c, killAt > 0)
	r.done = take(done{})
	if killAt == 0 {
		var err error
		if r.points, err = strconv.Atoi(strings.TrimSpace(said)); err != nil {
			t.Fatal(err)
		}
	} else {
		r.answered, r.outputs = s.known(t, id)
		c.KillAt = 0
		start(t, c, false)
		r.later = take(r.done)
	}
	r.result = s.resultOf(t, id)
	return r
}

// known returns how many answers and outputs the journal of a session has.
func (s stores) known(t *testing.T, id string) (answers, outputs int) {
	t.Helper()
	store := s.opened(t, id)
	h, err := store.HistoryHere()
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range h.Steps {
		if step.Reply != nil {
			answers++
		}
		for _, a := range step.Actions {
			if a.Output != nil {
				outputs++
			}
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return answers, outputs
}

// opened opens a session in this process.
func (s stores) opened(t *testing.T, id string) *journal.Writer {
	t.Helper()
	store, err := s.open(s.place, id)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func (s stores) resultOf(t *testing.T, id string) (r result) {
	t.Helper()
	store := s.opened(t, id)
	defer store.Close()
	h, err := store.HistoryHere()
	if err != nil {
		t.Fatal(err)
	}
	st, _ := session.StateOf(id, h)
	r.State = fmt.Sprintf("%s, %d turns, retry %v, %q, %d calls, $%g, %v", st.Status, st.Turns, st.Retry, st.Error, st.Calls, st.Cost, st.Metadata)
	messages, err := session.MessagesOf(h, session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = texts(t, messages)
	for _, a := range h.Artifacts { // none replaces another
		r.Artifacts = append(r.Artifacts, fmt.Sprintf("%s %s %x of turn %d", a.Name, a.MediaType, a.Data, a.Turn))
	}
	for _, turn := range h.Turns {
		if turn.End == nil {
			t.Fatalf("turn %d has not ended", turn.Turn)
		}
		r.Ends = append(r.Ends, *turn.End)
	}
	return r
}

// texts are messages as the journal has them, without the time.
func texts(t *testing.T, messages []session.Message) (list []string) {
	t.Helper()
	for _, m := range messages {
		delete(m.Extra, "timestamp")
		text, err := m.Message.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d %s", m.Turn, text))
	}
	return list
}
