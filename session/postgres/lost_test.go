package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/fault"
	"batch.example/batch/internal/pgtest"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/session"
	"batch.example/batch/session/postgres"
	"batch.example/batch/vocab"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// talk is a session with a model that calls bash twice, and then answers. Before a call or
// an action with a given name, something happens.
type talk struct {
	*session.Session
	asked, ran []string
	before     map[string]func()
}

func newTalk(t *testing.T, store session.Store) *talk {
	t.Helper()
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate: "s", InstanceTemplate: "{{task}}", ObservationTemplate: "{{output.output}}", FinishWithoutCalls: true,
		Actions: agent.ActionForm{Kind: agent.Tools, Tools: []agent.Tool{agent.BashTool()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &talk{Session: session.New(session.Config{ContextID: "x", Store: store, Loop: loop}), before: map[string]func(){}}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *talk) happens(what string) {
	if do := c.before[what]; do != nil {
		delete(c.before, what)
		do()
	}
}

// Generate implements [llm.Model].
func (c *talk) Generate(_ context.Context, req *llm.Request) (*llm.Response, error) {
	said := 0
	for _, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			said++
		}
	}
	name := fmt.Sprint("call ", said+1)
	c.asked = append(c.asked, name)
	c.happens(name)
	parts := llm.Say("done")
	if said < 2 {
		parts = llm.Say("", llm.ToolCall{ID: fmt.Sprint(said), Name: "bash", Arguments: fmt.Sprintf(`{"command":"action %d"}`, said+1)})
	}
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}, Cost: 1, Priced: true, FinishReason: "stop"}, nil
}

// Execute implements [session.Environment].
func (c *talk) Execute(_ context.Context, _, command string) (vocab.Output, error) {
	c.ran = append(c.ran, command)
	c.happens(command)
	return vocab.Output{Bytes: []byte("did " + command)}, nil
}

// Vars implements [session.Environment].
func (*talk) Vars() map[string]any { return nil }

func (c *talk) turn(t *testing.T, words string) (*session.Result, error) {
	t.Helper()
	return c.Turn(t.Context(), session.Input{Words: words, Model: c, Env: c})
}

// finishes tries the turn again, which must finish; in all, it takes three calls and two
// actions.
func (c *talk) finishes(t *testing.T, words string) {
	t.Helper()
	res, err := c.turn(t, words)
	if err != nil || res.End != journal.TurnFinished || res.Answer != "done" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if diff := cmp.Diff([]string{"call 1", "call 2", "call 3"}, c.asked); diff != "" {
		t.Errorf("calls: %s", diff)
	}
	if diff := cmp.Diff([]string{"action 1", "action 2"}, c.ran); diff != "" {
		t.Errorf("actions: %s", diff)
	}
}

// cutOff ends the connection of the store that has a session.
func cutOff(t *testing.T, db *sql.DB, id string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `select pg_terminate_backend(pid, 10000) from pg_locks where locktype = 'advisory' and
		(classid::bigint << 32) | objid::bigint = hashtextextended('batch.session:' || $1, 0)`, id)
	if err != nil {
		t.Fatal(err)
	}
}

// What was answered while the connection was away is written when the turn is tried again.
func TestALostConnectionFailsTheTurnAndLosesNothing(t *testing.T) {
	s, db := sessions(t)
	for _, point := range []string{"call 1", "action 1", "call 2", "action 2", "call 3"} {
		t.Run(point, func(t *testing.T) {
			id := strings.ReplaceAll("lost-"+point, " ", "-")
			store, err := s.Open(t.Context(), s.Place, id, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := newTalk(t, store)
			c.before[point] = func() { cutOff(t, db, id) }
			res, err := c.turn(t, "work")
			if fault.KindOf(err) != fault.Transient || res.End != journal.TurnFailed || !c.State().Retry {
				t.Fatalf("got %+v, %v (%v); want a failed turn, a Transient fault", res, err, fault.KindOf(err))
			}
			c.finishes(t, "")
			if err := c.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			sameAsJournal(t, db, id)
		})
	}
}

// A store that has lost its connection, and then the session to another one, writes nothing.
func TestAStoreThatWasOvertakenWritesNothing(t *testing.T) {
	s, db := sessions(t)
	store, err := s.Open(t.Context(), s.Place, "overtaken", session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := newTalk(t, store)
	var second *talk
	c.before["action 1"] = func() {
		cutOff(t, db, "overtaken")
		store, err := s.Open(t.Context(), s.Place, "overtaken", session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		second = newTalk(t, store)
	}
	if res, err := c.turn(t, "work"); err == nil || res.End != journal.TurnFailed {
		t.Fatalf("got %+v, %v", res, err)
	}
	for range 2 {
		if _, err := c.turn(t, "more"); !errors.Is(err, session.ErrInUse) && fault.KindOf(err) != fault.Transient {
			t.Errorf("the store that was overtaken: %v (%v)", err, fault.KindOf(err))
		}
	}
	second.asked = []string{"call 1"} // by the first
	if st := second.State(); !st.Retry || st.Turns != 1 {
		t.Errorf("the other store has %+v", st)
	}
	if res, err := second.turn(t, ""); err != nil || res.End != journal.TurnFinished {
		t.Fatalf("got %+v, %v", res, err)
	}
	if diff := cmp.Diff([]string{"call 1", "call 2", "call 3"}, second.asked); diff != "" {
		t.Errorf("calls: %s", diff)
	}
	if err := second.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := c.turn(t, "more"); !errors.Is(err, session.ErrInUse) {
		t.Errorf("the store that was overtaken, after the other was closed: %v", err)
	}
	if err := c.Shutdown(t.Context()); !errors.Is(err, session.ErrInUse) {
		t.Errorf("its shutdown: %v", err)
	}
	sameAsJournal(t, db, "overtaken")
	if st := listed(t, db, "overtaken"); st.Turns != 1 || st.Retry {
		t.Errorf("got %+v", st)
	}
}

func TestAServerThatCrashesInATurnLosesNothing(t *testing.T) {
	server, err := pgtest.Start()
	need(t, server, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	db := database(t, server.URL())
	for i, point := range []string{"call 1", "action 1", "call 2", "action 2", "call 3"} {
		for _, reopen := range []bool{false, true} {
			id := fmt.Sprintf("crash-%d-%v", i, reopen)
			store, err := postgres.Open(t.Context(), db, id, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			c := newTalk(t, store)
			c.before[point] = func() {
				if err := server.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			res, err := c.turn(t, "work")
			if fault.KindOf(err) != fault.Transient || res.End != journal.TurnFailed {
				t.Fatalf("%s: got %+v, %v (%v); want a failed turn, a Transient fault", id, res, err, fault.KindOf(err))
			}
			if _, err := c.turn(t, ""); fault.KindOf(err) != fault.Transient {
				t.Errorf("%s: without a server: %v (%v)", id, err, fault.KindOf(err))
			}
			if reopen { // what was not written is lost with the store
				if err := c.Shutdown(t.Context()); fault.KindOf(err) != fault.Transient {
					t.Errorf("%s: a shutdown without a server: %v", id, err)
				}
			}
			if err := server.Resume(); err != nil {
				t.Fatal(err)
			}
			if !reopen {
				c.finishes(t, "")
			} else {
				if store, err = postgres.Open(t.Context(), db, id, session.Options{}); err != nil {
					t.Fatal(err)
				}
				c = newTalk(t, store)
				if st := c.State(); !st.Retry || st.Turns != 1 {
					t.Errorf("%s: opened again, the state is %+v", id, st)
				}
				if res, err := c.turn(t, ""); err != nil || res.End != journal.TurnFinished {
					t.Errorf("%s: got %+v, %v", id, res, err)
				}
			}
			if err := c.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			sameAsJournal(t, db, id)
		}
	}
}

func TestAFullPoolIsReported(t *testing.T) {
	s, _ := sessions(t)
	db := database(t, s.Place)
	db.SetMaxOpenConns(1)
	first, err := postgres.Open(t.Context(), db, "pool-1", session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := postgres.Open(ctx, db, "pool-2", session.Options{}); fault.KindOf(err) != fault.Transient || !contains(fault.HintOf(err), "pool") {
		t.Errorf("got %v (%v), hint %q", err, fault.KindOf(err), fault.HintOf(err))
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := postgres.Open(t.Context(), db, "pool-2", session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// The count of openings keeps a store from writing even if it believes to have the lock.
func TestASessionThatIsAnotherStoresIsNotWritten(t *testing.T) {
	s, db := sessions(t)
	for id, change := range map[string]string{
		"deleted":     `delete from batch.sessions where context_id = $1`,
		"opened-past": `update batch.sessions set opened = opened + 1 where context_id = $1`,
	} {
		store, err := s.Open(t.Context(), s.Place, id, session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), change, id); err != nil {
			t.Fatal(err)
		}
		before := rows(t, db, `select count(*) from batch.journal where context_id = $1`, id)
		for range 2 {
			if err := store.SaveArtifact(t.Context(), session.Artifact{Name: "a"}); !errors.Is(err, session.ErrInUse) {
				t.Errorf("%s: got %v", id, err)
			}
		}
		if err := store.Close(); err == nil {
			t.Errorf("%s: what could not be saved was not reported", id)
		}
		released(t, db, id)
		if after := rows(t, db, `select count(*) from batch.journal where context_id = $1`, id); before[0] != after[0] {
			t.Errorf("%s: the journal has %s rows, want %s", id, after[0], before[0])
		}
	}
}

func TestDamageIsFound(t *testing.T) {
	s, db := sessions(t)
	for _, c := range []struct {
		name, damage string
		opens        bool
	}{
		{"a torn end", `update batch.journal set bytes = substring(bytes from 1 for octet_length(bytes) - 5)
			where (context_id, at) in (select context_id, max(at) from batch.journal where context_id = $1 group by 1)`, true},
		{"bytes after the end", `update batch.journal set bytes = bytes || '{"v":'
			where (context_id, at) in (select context_id, max(at) from batch.journal where context_id = $1 group by 1)`, true},
		{"a missing row", `delete from batch.journal
			where (context_id, at) in (select context_id, max(at) from batch.journal where context_id = $1 and at < 1000 group by 1)`, false},
		{"a changed byte", `update batch.journal set bytes = set_byte(bytes, 100, 0) where context_id = $1 and at = 0`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := strings.ReplaceAll("damaged-by-"+c.name, " ", "-")
			store, err := s.Open(t.Context(), s.Place, id, session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			talk := newTalk(t, store)
			talk.finishes(t, "work")
			if err := talk.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), c.damage, id); err != nil {
				t.Fatal(err)
			}
			if c.opens { // the size is that of the bytes, as after a copy from elsewhere
				_, err := db.ExecContext(t.Context(), `update batch.sessions set size =
					(select sum(octet_length(bytes)) from batch.journal where context_id = $1) where context_id = $1`, id)
				if err != nil {
					t.Fatal(err)
				}
			}
			store, err = s.Open(t.Context(), s.Place, id, session.Options{})
			if !c.opens {
				if fault.KindOf(err) != fault.Instance || store != nil {
					t.Errorf("got %v (%v), want an Instance fault", err, fault.KindOf(err))
				}
				released(t, db, id)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if messages, err := store.Messages(t.Context(), session.Query{}); err != nil || len(messages) < 7 {
				t.Errorf("got %d messages, %v", len(messages), err)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			sameAsJournal(t, db, id)
		})
	}
}

// A write that may have been committed, although it failed, is made again at the same place.
func TestAWriteCanBeRepeated(t *testing.T) {
	_, db := sessions(t)
	f, err := postgres.OpenJournal(t.Context(), db, "repeated")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := func(seq int, typ, data string) []byte {
		body := fmt.Sprintf(`{"v":4,"seq":%d,"attempt":1,"start":0,"calls":0,"cost":0,"t":"2026-01-01T00:00:00Z","type":"%s","data":%s`, seq, typ, data)
		return fmt.Appendf(nil, "%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
	}
	first, second, third := line(1, "attempt", "{}"), line(2, "turn", `{"turn":1,"words":"a"}`), line(2, "turn", `{"turn":1,"words":"bb"}`)
	for _, last := range [][]byte{second, third, third} {
		p := slices.Concat(first, last)
		if _, err := f.WriteAt(p, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteAt(second, int64(len(first))); err != nil {
		t.Fatal(err)
	}
	want := string(first) + string(second)
	got := make([]byte, 10000)
	n, err := f.ReadAt(got, 0)
	if size, _ := f.Size(); string(got[:n]) != want || err != io.EOF || size != int64(len(want)) {
		t.Errorf("got %q, %v, %d bytes; want %q", got[:n], err, size, want)
	}
	if _, err := f.WriteAt(third, int64(len(want))+1); err == nil {
		t.Error("a write left a gap")
	}
	if err := f.Truncate(int64(len(first))); err != nil {
		t.Fatal(err)
	}
	if got := rows(t, db, `select turns from batch.sessions where context_id = 'repeated'`); got[0] != "0" {
		t.Errorf("%s turns are left", got)
	}
}
