package results_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// tell appends records to a's journal: type and data in turn.
func tell(t testing.TB, a *results.Attempt, records ...any) {
	t.Helper()
	for i := 0; i < len(records); i += 2 {
		if err := a.Journal().Append(records[i].(string), records[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Journal().Sync(); err != nil {
		t.Fatal(err)
	}
}

func says(words ...string) journal.MessagesData {
	var d journal.MessagesData
	for _, w := range words {
		d.Messages = append(d.Messages, json.RawMessage(fmt.Sprintf("%q", w)))
	}
	return d
}

var (
	container = journal.ContainerData{Container: "c1"}
	request   = func(step int) journal.RequestData { return journal.RequestData{Step: step} }
	reply     = func(step int) journal.ReplyData {
		return journal.ReplyData{Step: step, Cost: 0.5, Priced: true, Message: json.RawMessage(`"r"`)}
	}
	action = func(step int, c string) journal.ActionData { return journal.ActionData{Step: step, Command: c} }
	output = func(step int, o string) journal.OutputData {
		return journal.OutputData{Step: step, Kept: []byte(o)}
	}
)

// twoSteps has a whole step, and a step with a second action that has not ended.
var twoSteps = []any{
	journal.TypeContainer, container,
	journal.TypeMessages, says("system", "task"),
	journal.TypeRequest, request(1), journal.TypeReply, reply(1), journal.TypeMessages, says("one"),
	journal.TypeAction, action(1, "a"), journal.TypeOutput, output(1, "A"), journal.TypeMessages, says("A"),
	journal.TypeRequest, request(2), journal.TypeReply, reply(2), journal.TypeMessages, says("two"),
	journal.TypeAction, action(2, "b"), journal.TypeOutput, output(2, "\xff"), journal.TypeAction, action(2, "c"),
}

// shape writes a history on one line.
func shape(h *journal.History) string {
	var b strings.Builder
	for _, m := range h.Messages {
		fmt.Fprintf(&b, "%s ", m)
	}
	for _, s := range h.Steps {
		fmt.Fprintf(&b, "| %d", s.Number)
		if s.Reply == nil {
			b.WriteString(" unanswered")
		}
		for i, a := range s.Actions {
			fmt.Fprintf(&b, " %s", a.Command)
			if a.Output == nil {
				continue
			}
			output, err := h.Output(s.Number, i+1)
			if last := h.Last(); err == nil && last != nil && last.Number == s.Number && !bytes.Equal(output, a.Output.Kept) {
				err = errors.New("the last step holds another output")
			}
			fmt.Fprintf(&b, "=%q", output)
			if err != nil {
				fmt.Fprintf(&b, " (%v)", err)
			}
		}
		b.WriteString(" ")
	}
	if h.Container != nil {
		b.WriteString("in " + h.Container.Container)
	}
	return b.String()
}

func TestAHistoryIsReadFromTheJournal(t *testing.T) {
	dir := t.TempDir()
	for n, want := range map[int]string{
		1:  `in c1`,
		2:  `in c1`,
		3:  `"system" "task" | 1 unanswered in c1`,
		4:  `"system" "task" | 1 in c1`,
		5:  `"system" "task" | 1 in c1`,
		6:  `"system" "task" | 1 a in c1`,
		7:  `"system" "task" | 1 a="A" in c1`,
		8:  `"system" "task" | 1 a="A" in c1`,
		9:  `"system" "task" "one" "A" | 1 a="A" | 2 unanswered in c1`,
		13: `"system" "task" "one" "A" | 1 a="A" | 2 b="\xff" in c1`,
		14: `"system" "task" "one" "A" | 1 a="A" | 2 b="\xff" c in c1`,
	} {
		id := fmt.Sprint("i-", n)
		s := open(t, dir)
		a, err := s.Begin(id, manifest.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		tell(t, a, twoSteps[:2*n]...)
		closeStore(t, s)
		h, err := journal.ReadHistory(filepath.Join(dir, id, "journal.jsonl"))
		if err != nil || shape(h) != want {
			t.Errorf("after %d records: %s, %v; want %s", n, shape(h), err, want)
		}
	}
	if _, err := journal.ReadHistory(filepath.Join(dir, "absent", "journal.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the history of an unknown instance: got error %v", err)
	}
}

func TestACrashedAttemptIsResumed(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, failed("a")) // the first attempt ended by an infrastructure fault
	a, err := s.Begin("a", manifest.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	tell(t, a, twoSteps...)
	closeStore(t, s)

	s = open(t, dir)
	before := s.Spent()
	a, h, err := s.Resume("a", manifest.Settings{})
	if err != nil || a.Number() != 2 || h == nil || shape(h) != `"system" "task" "one" "A" | 1 a="A" | 2 b="\xff" c in c1` {
		t.Fatalf("got %v, %+v; want number 2, history %q, no error",
			err, h, `"system" "task" "one" "A" | 1 a="A" | 2 b="\xff" c in c1`)
	}
	// The last step's messages are recorded again, and the action under way is requested again.
	tell(t, a, journal.TypeContainer, journal.ContainerData{Container: "c2", Replayed: 2},
		journal.TypeMessages, says("two"),
		journal.TypeAction, action(2, "c"), journal.TypeOutput, output(2, "C"), journal.TypeMessages, says("B", "C"),
		journal.TypeRequest, request(3), journal.TypeReply, reply(3))
	if got := s.Spent() - before; got != 0.5 {
		t.Errorf("the new reply cost %v", got)
	}
	closeStore(t, s)

	s = open(t, dir)
	a, h, err = s.Resume("a", manifest.Settings{})
	want := `"system" "task" "one" "A" "two" "B" "C" | 1 a="A" | 2 b="\xff" c="C" | 3 in c2`
	if err != nil || a.Number() != 2 || h == nil || shape(h) != want || h.Resumed != 1 {
		t.Fatalf("got %v, %+v; want number 2, history %v, resumed 1, no error", err, h, want)
	}
	r := result("a", "done")
	r.Record.Cost = 1.5
	if _, err := s.Put(t.Context(), r); err != nil || r.Record.Attempt != 2 {
		t.Fatal(err, r.Record.Attempt)
	}
	spent := s.Spent()
	closeStore(t, s)
	s = open(t, dir)
	if rs := s.Records(); len(rs) != 2 || rs[1].Cost != 1.5 || s.Spent() != spent || spent != before+0.5 {
		t.Errorf("records %+v, spent %v then %v; want 2 records, cost 1.5, spent %v, spent %v",
			rs, spent, s.Spent(), spent, before+0.5)
	}
	if a, h, err := s.Resume("a", manifest.Settings{}); err != nil || h != nil || a.Number() != 3 {
		t.Errorf("a finished attempt was resumed: %v, %+v", err, h)
	}
}

// Neither a suspension of the machine nor a change of its clock counts as time.
func TestSuspendedTimeOfTheMachineDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, dir)
		a, err := s.Begin("a", manifest.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		tell(t, a, journal.TypeContainer, container, journal.TypeMessages, says("system", "task"))
		after := func(passed time.Duration, typ string, data any) {
			time.Sleep(passed)
			tell(t, a, typ, data)
		}
		after(0, journal.TypeRequest, request(1))
		after(5*time.Minute, journal.TypeReply, journal.ReplyData{Step: 1, Message: json.RawMessage(`{}`), Seconds: 300, Waited: 60})
		after(0, journal.TypeAction, action(1, "make"))
		after(8*time.Hour, journal.TypeOutput, journal.OutputData{Step: 1, Kept: []byte("x"), Seconds: 20})
		after(8*time.Hour, journal.TypeMessages, says("x"))
		after(0, journal.TypeRequest, request(2))
		after(8*time.Hour, journal.TypeReply, journal.ReplyData{Step: 2, Message: json.RawMessage(`{}`), Seconds: 10})
		closeStore(t, s)
		h, err := journal.ReadHistory(filepath.Join(dir, "a", "journal.jsonl"))
		if want := 4*time.Minute + 30*time.Second; err != nil || h.Elapsed != want {
			t.Errorf("worked %v, want %v; %v", h.Elapsed, want, err)
		}
	})
}
