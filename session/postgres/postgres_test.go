package postgres_test

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/internal/sample"
	"batch.example/batch/journal"
	"batch.example/batch/session"
	"batch.example/batch/session/postgres"
	"batch.example/batch/session/sessiontest"
)

func TestAKilledSessionInPostgresIsResumed(t *testing.T) {
	s, _ := sessions(t)
	sessiontest.Kill(t, s, func(points []int) []int { return sample.Some(t, 25, points) })
}

// sameAsJournal compares the tables with the journal of a session that no process has open,
// or whose process has just died.
func sameAsJournal(t *testing.T, db *sql.DB, id string) {
	t.Helper()
	released(t, db, id)
	bytes := rows(t, db, `select encode(string_agg(bytes, '' order by at), 'hex') from batch.journal where context_id = $1 having count(*) > 0`, id)
	if bytes == nil {
		return // it died before the first record
	}
	text, err := hex.DecodeString(bytes[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := journal.ReadHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i, raw := range slices.Concat(h.Messages, h.Later) {
		want = append(want, fmt.Sprintf("%d of turn %d: %s", i+1, h.TurnOf(i), raw))
	}
	for _, a := range session.ArtifactsOf(h) {
		want = append(want, fmt.Sprintf("%s %s %x of turn %d", inRow(a.Name), inRow(a.MediaType), a.Data, a.Turn))
	}
	st := session.StateOf(id, h)
	if h.Session == nil && len(h.Turns) == 0 {
		st.Status = session.Created
	}
	want = append(want, summary(st), fmt.Sprint(len(text), " bytes"))
	got = append(got, rows(t, db, `select n || ' of turn ' || turn || ': ' || message from batch.messages where context_id = $1 order by n`, id)...)
	got = append(got, rows(t, db, `select name || ' ' || media_type || ' ' || encode(data, 'hex') || ' of turn ' || turn from batch.artifacts where context_id = $1 order by n`, id)...)
	got = append(got, summary(listed(t, db, id)))
	got = append(got, rows(t, db, `select size || ' bytes' from batch.sessions where context_id = $1`, id)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tables say something else than the journal (-journal +tables):\n%s", diff)
	}
}

// inRow is a text as a row has it.
func inRow(s string) string {
	if strings.HasPrefix(s, `"`) || strings.Contains(s, "\x00") {
		return strconv.Quote(s)
	}
	return s
}

// released waits until no connection has the session's lock.
func released(t *testing.T, db *sql.DB, id string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `select pg_advisory_xact_lock(hashtextextended('batch.session:' || $1, 0))`, id)
	if err != nil {
		t.Fatal(err)
	}
}

// listed is the state that List has of a session.
func listed(t *testing.T, db *sql.DB, id string) session.State {
	t.Helper()
	list, err := postgres.List(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.ContextID == id {
			return s
		}
	}
	t.Fatalf("session %s is not listed", id)
	return session.State{}
}

func summary(s session.State) string {
	return fmt.Sprintf("%s %s %d %v %s %s %q %d %g %v", s.ContextID, s.Status, s.Turns, s.Retry, s.Created.Truncate(1e3), s.LastActivity.Truncate(1e3), s.Error, s.Calls, s.Cost, s.Metadata)
}

// rows returns the first column of a query.
func rows(t *testing.T, db *sql.DB, query string, args ...any) (list []string) {
	t.Helper()
	r, err := db.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for r.Next() {
		var s string
		if err := r.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestSessionsInPostgres(t *testing.T) {
	s, _ := sessions(t)
	sessiontest.Run(t, s)
}
