package session_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/picture"
	"batch.example/batch/vocab"
)

func testASessionHasTheStatusOfItsTurns(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t, bash("wait"), say("done"))
	c.env.waiting, c.env.wait = make(chan struct{}), make(chan struct{})
	ctx := t.Context()
	want := func(status session.Status) {
		t.Helper()
		if got := c.State(); got.Status != status || got.ContextID != c.id {
			t.Errorf("got %+v, want the status %s of %s", got, status, c.id)
		}
	}
	want(session.Ready)
	_, err := c.Turn(ctx, c.input(""))
	c.is("a turn without words", err, session.ErrNothing)
	turn, err := c.Begin(ctx, c.input("work"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := turn.Run(ctx)
		ended <- err
	}()
	<-c.env.waiting
	want(session.Busy)
	_, err = c.Begin(ctx, c.input("more"))
	c.is("a second turn", err, session.ErrBusy)
	_, err = c.Messages(ctx, session.Query{})
	c.is("reading while a turn runs", err, session.ErrBusy)
	c.is("clearing while a turn runs", c.Clear(ctx), session.ErrBusy)
	c.is("pausing while a turn runs", c.Pause(ctx), session.ErrBusy)
	c.is("a shutdown while a turn runs", c.Shutdown(ctx), session.ErrBusy)
	close(c.env.wait)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	want(session.Ready)
	if err := c.Pause(ctx); err != nil {
		t.Fatal(err)
	}
	want(session.Paused)
	_, err = c.Begin(ctx, c.input("more"))
	c.is("a turn of a paused session", err, session.ErrNotStarted)
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	want(session.Ready)
	for range 2 {
		if err := c.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		want(session.Shutdown)
	}
	_, err = c.Messages(ctx, session.Query{})
	c.is("reading after a shutdown", err, session.ErrNotStarted)
	c.is("starting after a shutdown", c.Start(ctx), session.ErrNotStarted)
	c.prepare()
	want(session.Created)
	_, err = c.Begin(ctx, c.input("more"))
	c.is("a turn before the start", err, session.ErrNotStarted)
	h, err := c.store.HistoryHere()
	if st, ok := session.StateOf(c.id, h); err != nil || !ok || st.Status != session.Shutdown {
		t.Errorf("after a shutdown, the store has %+v, %v, %v", st, ok, err)
	}
}

func testTheEndsOfTurns(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t,
		say("an answer"),
		bash("submit the patch\n"),
		bash("a"), bash("b"), bash("c"), bash("d"),
		ask("which one?"), say("that one, then"),
	)
	if res := c.say("talk", journal.TurnFinished); res.Answer != "an answer" || res.Turn != 1 {
		t.Errorf("answered: %+v", res)
	}
	if res := c.say("work", journal.TurnFinished); string(res.Ending.Submission) != "the patch\n" {
		t.Errorf("submitted: %+v", res.Ending)
	}
	c.again()
	if res := c.say("work much", journal.TurnMaxIterations); res.Ending.Calls != 6 {
		t.Errorf("at the limit: %+v, want 6 calls in all", res.Ending)
	}
	if got := c.said(session.Query{Last: 2})[0]; got != "t: did d" {
		t.Errorf("at the limit, the last result is %q", got)
	}
	if res := c.say("continue", journal.TurnInputRequired); res.Question != "which one?" {
		t.Errorf("input required: %+v", res)
	}
	c.again()
	if res := c.say("this one", journal.TurnFinished); res.Answer != "that one, then" || res.Turn != 5 {
		t.Errorf("after the answer: %+v", res)
	}
	c.model.fails = fault.Newf(fault.Transient, "no route to the model")
	c.say("and more", journal.TurnFailed)
	if fault.KindOf(c.cause) != fault.Transient || c.State().Error == "" {
		t.Errorf("failed: %v, %+v", c.cause, c.State())
	}
	h, err := c.store.HistoryHere()
	if err != nil {
		t.Fatal(err)
	}
	var got []journal.TurnEnd
	for _, turn := range h.Turns {
		got = append(got, turn.End.End)
	}
	want := []journal.TurnEnd{"finished", "finished", "max_iterations", "input_required", "finished", "failed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the ends of the turns: %s", diff)
	}
}

func testAFailedTurnIsTriedAgain(t *testing.T, begin beginning) {
	t.Parallel()
	for _, reopen := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopened %v", reopen), func(t *testing.T) {
			c := begin(t, bash("a"), bash("b", "fail", "d"), say("done"))
			c.say("work", journal.TurnFailed)
			before := c.said(session.Query{})
			if len(before) < 4 || before[3] != "t: did a" {
				t.Errorf("after the failure, the messages are %q", before)
			}
			if reopen {
				c.again()
				if st := c.State(); !st.Retry || st.Error == "" || st.Turns != 1 {
					t.Errorf("opened again, the state is %+v", st)
				}
			}
			if res := c.say("", journal.TurnFinished); res.Turn != 1 || res.Answer != "done" {
				t.Errorf("the second try: %+v", res)
			}
			if n := len(c.model.take()); n != 3 {
				t.Errorf("the model was asked %d times, want 3", n)
			}
			want := map[string]int{"1.1 a": 1, "2.1 b": 1, "2.2 fail": 2, "2.3 d": 1}
			if diff := cmp.Diff(want, c.env.ran); diff != "" {
				t.Errorf("actions: %s", diff)
			}
			all := []string{"s: You are an agent.", "u: work", "a: [a-0]", "t: did a", "a: [b-0][fail-1][d-2]", "t: did b", "t: did fail", "t: did d", "a: done"}
			if diff := cmp.Diff(all, c.said(session.Query{})[:len(all)]); diff != "" {
				t.Errorf("messages: %s", diff)
			}
		})
	}
}

// Turns may end before their first request. Their words reach the model with the next ones.
func testWordsThatTheModelHasNotSeenReachItOnce(t *testing.T, begin beginning) {
	t.Parallel()
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for _, reopen := range []bool{false, true} {
		for name, test := range map[string]struct {
			replies []answer
			said    []string // before
			stopped []string // in turns that end before their first request
			last    string   // "" tries again
			want    []string // messages from the person's words on
		}{
			"words and more words":     {[]answer{say("one"), say("two")}, []string{"a"}, []string{"b"}, "c", []string{"u: b\n\nc", "a: two"}},
			"many":                     {[]answer{say("one"), say("two")}, []string{"a"}, []string{"b", "", "c", "d"}, "e", []string{"u: b\n\nc\n\nd\n\ne", "a: two"}},
			"tried again":              {[]answer{say("one"), say("two")}, []string{"a"}, []string{"b"}, "", []string{"u: b", "a: two"}},
			"more words, tried again":  {[]answer{say("one"), say("two")}, []string{"a"}, []string{"b", "", "c"}, "", []string{"u: b\n\nc", "a: two"}},
			"the task":                 {[]answer{say("one")}, nil, []string{"a"}, "b", []string{"s: You are an agent.", "u: a", "u: b", "a: one"}},
			"the task and words":       {[]answer{say("one")}, nil, []string{"a", "b"}, "c", []string{"s: You are an agent.", "u: a", "u: b\n\nc", "a: one"}},
			"the task is tried again":  {[]answer{say("one")}, nil, []string{"a"}, "", []string{"s: You are an agent.", "u: a", "a: one"}},
			"the answer to a question": {[]answer{ask("which?"), say("two")}, []string{"a"}, []string{"b"}, "c", []string{"t: b\n\nc", "a: two"}},
			"after a step that failed": {[]answer{bash("a", "fail", "c"), say("two")}, []string{"a"}, []string{"b"}, "c", []string{"a: [a-0][fail-1][c-2]", "t: did a", "t: ", "t: ", "u: b\n\nc", "a: two"}},
		} {
			t.Run(fmt.Sprintf("%s, reopened %v", name, reopen), func(t *testing.T) {
				c := begin(t, test.replies...)
				again := func() {
					if reopen {
						c.again()
					}
				}
				for _, words := range test.said {
					_, c.cause = c.Turn(t.Context(), c.input(words))
					again()
				}
				c.model.take()
				for _, words := range test.stopped {
					if res, err := c.Turn(stopped, c.input(words)); !errors.Is(err, context.Canceled) || res.End != journal.TurnFailed {
						t.Fatalf("%q: got %+v, %v; want it stopped", words, res, err)
					}
					again()
				}
				c.say(test.last, journal.TurnFinished)
				if n := len(c.model.take()); n != 1 {
					t.Errorf("the model was asked %d times, want once", n)
				}
				said := c.said(session.Query{})
				said = said[:len(said)-1] // without the end of the run
				if diff := cmp.Diff(test.want, said[max(0, len(said)-len(test.want)):]); diff != "" {
					t.Error(diff)
				}
				if all := strings.Join(said, "|"); strings.Count(all, "u: a") != 1 {
					t.Errorf("the task is not said once: %q", said)
				}
			})
		}
	}
}

func testATurnThatFailedByAReplyDoesNotFailByItAgain(t *testing.T, begin beginning) {
	t.Parallel()
	bad, filtered := answer{}, answer{Filtered: true}
	for _, reopen := range []bool{false, true} {
		for name, test := range map[string]struct {
			first, then []answer // the model's in the two turns
			refused     bool     // the call after first is refused
			words       string   // of the second turn; "" tries again
			status      vocab.Status
			calls       int // in all
		}{
			"format errors, tried again": {[]answer{bad, bad, bad}, []answer{say("done")}, false, "", vocab.StatusRepeatedFormatError, 4},
			"format errors, then words":  {[]answer{bad, bad, bad}, []answer{bad, bad, bash("a"), say("done")}, false, "next", vocab.StatusRepeatedFormatError, 7},
			"a filter, tried again":      {[]answer{bash("a"), filtered}, []answer{say("done")}, false, "", vocab.StatusContentPolicyViolation, 3},
			"a filter, then words":       {[]answer{bash("a"), filtered}, []answer{bad, bad, say("done")}, false, "next", vocab.StatusContentPolicyViolation, 5},
			"a refusal, tried again":     {[]answer{bash("a")}, []answer{say("done")}, true, "", vocab.StatusContentPolicyViolation, 2},
			"a refusal, then words":      {[]answer{bash("a")}, []answer{say("done")}, true, "next", vocab.StatusContentPolicyViolation, 2},
		} {
			t.Run(fmt.Sprintf("%s, reopened %v", name, reopen), func(t *testing.T) {
				c := begin(t)
				c.model.list(test.first...)
				if test.refused {
					c.model.refuses = len(test.first) + 1
				}
				res, err := c.Turn(t.Context(), c.input("work"))
				if err != nil || res.End != journal.TurnFailed || res.Ending.Status != test.status {
					t.Fatalf("got %+v, %v; want it failed with %s", res, err, test.status)
				}
				if st := c.State(); !st.Retry || st.Error == "" || st.Calls != len(test.first) {
					t.Errorf("the state is %+v", st)
				}
				if reopen {
					c.again()
				}
				c.model.list(test.then...)
				if res := c.say(test.words, journal.TurnFinished); res.Answer != "done" || res.Ending.Calls != test.calls {
					t.Errorf("the second turn: %+v, want %d calls in all", res.Ending, test.calls)
				}
				want := c.said(session.Query{})
				if n := strings.Count(strings.Join(want, "|"), "u: next"); n != strings.Count(test.words, "next") {
					t.Errorf("the words are said %d times: %q", n, want)
				}
				c.again()
				if diff := cmp.Diff(want, c.said(session.Query{})); diff != "" || c.State().Calls != test.calls {
					t.Errorf("opened again, the state is %+v, the messages %s", c.State(), diff)
				}
			})
		}
	}
}

// A turn fails after two format errors. The next turn counts from zero.
func testATurnCountsItsOwnFormatErrors(t *testing.T, begin beginning) {
	t.Parallel()
	for _, reopen := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopened %v", reopen), func(t *testing.T) {
			c := begin(t, answer{}, answer{}, answer{}, answer{}, say("done"))
			calls := 0
			c.model.before = func() {
				if calls++; calls == 3 {
					c.model.fails = fault.Newf(fault.Transient, "no route to the model")
				}
			}
			c.say("work", journal.TurnFailed)
			if reopen {
				c.again()
			}
			c.say("continue", journal.TurnFinished)
		})
	}
}

func testMessagesAreReadByTurnAndNumber(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t, bash("a"), say("one"), say("two"), say("three"))
	c.say("first", journal.TurnFinished)
	c.say("second", journal.TurnFinished)
	h, err := c.store.HistoryHere()
	if err != nil {
		t.Fatal(err)
	}
	began := h.Turns[1].Began
	c.again()
	c.say("third", journal.TurnFinished)
	all := c.said(session.Query{})
	for _, q := range []struct {
		name string
		q    session.Query
		want []string
	}{
		{"since the second turn", session.Query{Since: began}, []string{"u: second", "a: two", "u: third", "a: three"}},
		{"after its beginning", session.Query{Since: began.Add(1)}, []string{"u: third", "a: three"}},
		{"the last of those", session.Query{Since: began, Last: 2}, []string{"a: three"}},
		{"more than there are", session.Query{Last: 1000}, all},
		{"none in the future", session.Query{Since: time.Now().Add(time.Hour)}, nil},
	} {
		var spoken []string
		for _, text := range c.said(q.q) {
			if !strings.HasPrefix(text, "e: ") { // of the end of a run
				spoken = append(spoken, text)
			}
		}
		want := cmpopts.EquateEmpty()
		if len(q.want) == len(all) {
			spoken = c.said(q.q)
		}
		if diff := cmp.Diff(q.want, spoken, want); diff != "" {
			t.Errorf("%s: %s", q.name, diff)
		}
	}
	list, err := c.Messages(t.Context(), session.Query{})
	if err != nil || list[0].Turn != 1 || list[len(list)-1].Turn != 3 {
		t.Errorf("messages of turns %d to %d, %v; want 1 to 3", list[0].Turn, list[len(list)-1].Turn, err)
	}
}

// odd are texts that are hard to store.
var odd = []string{
	"a zero \x00 byte", `"quoted"`, "\"\x00", `\u0000`, "line\nfeed\r\n", "\u2028 \U0001f600 <&>", "'; drop table batch.sessions; --", " ", "\\",
}

func testArtifactsAreExact(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t, say("done"))
	save := func(name string, data string) {
		t.Helper()
		if err := c.SaveArtifact(t.Context(), name, "text/"+name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	save("patch", "one")
	save("log", "\x00\xff\xfe")
	c.say("work", journal.TurnFinished)
	save("patch", "two")
	save("empty", "")
	for _, name := range odd {
		save(name, name)
	}
	check := func() {
		t.Helper()
		list, err := c.Artifacts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range list {
			got = append(got, fmt.Sprintf("%s %s %q %d", a.Name, a.MediaType, a.Data, a.Turn))
			if a.Saved.IsZero() || time.Since(a.Saved) > time.Hour {
				t.Errorf("%s was saved at %v", a.Name, a.Saved)
			}
		}
		want := []string{`log text/log "\x00\xff\xfe" 0`, `patch text/patch "two" 1`, `empty text/empty "" 1`}
		for _, name := range odd {
			want = append(want, fmt.Sprintf("%s %s %q 1", name, "text/"+name, name))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	check()
	c.again()
	check()
}

func testAnArtifactMayBeSavedDuringATurn(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t, bash("wait", "b", "c"), say("done"))
	c.env.waiting, c.env.wait = make(chan struct{}), make(chan struct{})
	saved := make(chan error)
	go func() {
		<-c.env.waiting
		err := c.SaveArtifact(t.Context(), "patch", "text/x-diff", []byte("0"))
		close(c.env.wait)
		for i := 1; i <= 20 && err == nil; i++ {
			err = c.SaveArtifact(t.Context(), "patch", "text/x-diff", fmt.Append(nil, i))
		}
		saved <- err
	}()
	c.say("work", journal.TurnFinished)
	if err := <-saved; err != nil {
		t.Fatal(err)
	}
	c.again()
	list, err := c.Artifacts(t.Context())
	if err != nil || len(list) != 1 || string(list[0].Data) != "20" || list[0].Turn != 1 {
		t.Errorf("got %v, %v", list, err)
	}
}

func testAClearedSessionHasForgotten(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t, bash("a", "fail"), say("after the clear"), say("more"))
	c.say("work", journal.TurnFailed)
	if err := c.SaveArtifact(t.Context(), "patch", "text/x-diff", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := c.Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	empty := func() {
		t.Helper()
		list, err := c.Artifacts(t.Context())
		if said := c.said(session.Query{}); len(said)+len(list) > 0 || err != nil {
			t.Errorf("after the clear: %q, %v, %v", said, list, err)
		}
		if st := c.State(); st.Retry || st.Error != "" || st.Turns != 1 || st.Calls != 1 {
			t.Errorf("after the clear, the state is %+v", st)
		}
	}
	empty()
	c.again()
	empty()
	_, err := c.Turn(t.Context(), c.input(""))
	c.is("trying again what is forgotten", err, session.ErrNothing)
	c.model.replies = c.model.replies[1:]
	if res := c.say("new words", journal.TurnFinished); res.Answer != "after the clear" || res.Turn != 2 {
		t.Errorf("the next turn: %+v", res)
	}
	c.again()
	want := []string{"s: You are an agent.", "u: new words", "a: after the clear"}
	if diff := cmp.Diff(want, c.said(session.Query{})[:3]); diff != "" {
		t.Error(diff)
	}
}

// The pictures of the task are shown with it, and not with the words that begin another conversation.
func testPicturesAreTheTasks(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t, say("done"), say("done again"))
	for _, words := range []string{"the task", "other words"} {
		in := c.input(words)
		in.Task, in.Pictures = "the task", []picture.Picture{{Image: llm.Image{MediaType: "image/png", Data: []byte("png")}}}
		if _, err := c.Turn(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		messages, err := c.Messages(t.Context(), session.Query{})
		if err != nil || len(messages) < 2 {
			t.Fatal(messages, err)
		}
		if n := len(messages[1].Parts) - 1; (n == 1) != (words == "the task") {
			t.Errorf("%q: %d pictures", words, n)
		}
		if err := c.Clear(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func testMetadataIsKept(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t)
	m := map[string]string{"plain": "text", "empty": ""}
	for i, text := range odd {
		m[text] = fmt.Sprint(text, i)
	}
	if err := c.SetMetadata(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	c.again()
	if diff := cmp.Diff(m, c.State().Metadata); diff != "" {
		t.Error(diff)
	}
	if err := c.SetMetadata(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c.again()
	if got := c.State().Metadata; len(got) > 0 {
		t.Errorf("got %v, want none", got)
	}
}

func testWhatComesTooEarlyOrTooLateIsRefused(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t, say("done"))
	m := map[string]string{"name": "value"}
	if err := c.SetMetadata(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	refused := func(when string) {
		t.Helper()
		c.is("pausing "+when, c.Pause(t.Context()), session.ErrNotStarted)
		err := c.SaveArtifact(t.Context(), "patch", "", []byte("x"))
		c.is("saving an artifact "+when, err, session.ErrNotStarted)
		if fault.HintOf(err) == "" {
			t.Errorf("%v: there is no hint", err)
		}
	}
	if err := c.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused("after a shutdown")
	if st := c.State(); st.Status != session.Shutdown || !cmp.Equal(st.Metadata, m) {
		t.Errorf("after a shutdown, the state is %+v", st)
	}
	c.prepare()
	refused("before the start")
	if st := c.State(); st.Status != session.Created {
		t.Errorf("before the start, the state is %+v", st)
	}
	if err := c.Shutdown(t.Context()); err != nil {
		t.Errorf("a shutdown before the start: %v", err)
	}
	c.start()
	if diff := cmp.Diff(m, c.State().Metadata); diff != "" {
		t.Errorf("the metadata: %s", diff)
	}
	if err := c.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.SaveArtifact(t.Context(), "patch", "", []byte("x")); err != nil {
		t.Errorf("saving an artifact in a pause: %v", err)
	}
	c.again()
	if diff := cmp.Diff(m, c.State().Metadata); diff != "" {
		t.Errorf("after a pause, the metadata: %s", diff)
	}
}

// An action panics in two tries of a turn.
func testATurnThatPanicsIsTriedAgain(t *testing.T, begin beginning) {
	t.Parallel()
	c := begin(t, bash("a"), bash("b"), say("done"))
	actions := 0
	c.env.before = func() {
		if actions++; 1 < actions && actions < 4 {
			panic("of the environment")
		}
	}
	for _, words := range []string{"work", ""} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			_, _ = c.Turn(t.Context(), c.input(words)) // it does not return
		}()
		if st := c.State(); st.Status != session.Ready || !st.Retry || st.Error == "" || st.Calls != 2 || st.Cost != 2 {
			t.Errorf("after a panic, the state is %+v, want 2 calls", st)
		}
	}
	c.again()
	if st := c.State(); st.Calls != 2 || st.Cost != 2 {
		t.Errorf("opened again, the state is %+v, want 2 calls", st)
	}
	if res := c.say("", journal.TurnFinished); res.Ending.Calls != 3 || res.Turn != 1 {
		t.Errorf("tried again: %+v", res)
	}
}
