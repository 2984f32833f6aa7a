package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"slices"
	"time"

	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/session"
)

// tables follows a session's journal and makes the rows of batch.sessions, batch.messages
// and batch.artifacts say the same.
type tables struct {
	id      string
	follow  *journal.Follower
	running bool // a turn began, and the session was not opened again since

	// How many messages and artifacts, the first ones, have the right rows.
	messages, artifacts int
}

func newTables(id string) *tables { return &tables{id: id, follow: journal.NewFollower()} }

// read reads the journal's next lines.
func (t *tables) read(lines io.Reader, size int64) error {
	return t.follow.Read(lines, size, func(r *journal.Record) {
		h := t.follow.History()
		t.messages = min(t.messages, len(h.Messages)+len(h.Later)) // a retry and a clear take some away
		t.artifacts = min(t.artifacts, len(h.Artifacts))
		switch r.Type {
		case journal.TypeTurn, journal.TypeRetry:
			t.running = true
		case journal.TypeAttempt, journal.TypeResume, journal.TypeTurnEnd:
			t.running = false
		}
	})
}

// before returns the turns that began before a time.
func (t *tables) before(since time.Time) []int {
	turns := []int{}
	for i, turn := range t.follow.History().Turns {
		if turn.Began.Before(since) {
			turns = append(turns, i+1)
		}
	}
	return turns
}

// write changes the rows.
func (t *tables) write(ctx context.Context, tx *sql.Tx) error {
	if err := t.writeState(ctx, tx); err != nil {
		return err
	}
	if err := t.writeMessages(ctx, tx); err != nil {
		return err
	}
	return t.writeArtifacts(ctx, tx)
}

// written is called when the transaction of write was committed.
func (t *tables) written() {
	h := t.follow.History()
	t.messages, t.artifacts = len(h.Messages)+len(h.Later), len(h.Artifacts)
	t.follow.Forget()
}

func (t *tables) writeState(ctx context.Context, tx *sql.Tx) error {
	h := t.follow.History()
	s := session.StateOf(t.id, h)
	switch {
	case t.running:
		s.Status, s.Retry, s.Error = session.Busy, false, ""
	case h.Session == nil && len(h.Turns) == 0:
		s.Status = session.Created
	}
	metadata, err := json.Marshal(storedMap(s.Metadata))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `update batch.sessions set status = $2, turns = $3, retry = $4, created = $5,
			last_activity = $6, error = $7, calls = $8, cost = $9, metadata = $10 where context_id = $1`,
		t.id, string(s.Status), s.Turns, s.Retry, s.Created, s.LastActivity, stored(s.Error), s.Calls, s.Cost, string(metadata))
	return err
}

func (t *tables) writeMessages(ctx context.Context, tx *sql.Tx) error {
	h := t.follow.History()
	if _, err := tx.ExecContext(ctx, `delete from batch.messages where context_id = $1 and n > $2`, t.id, t.messages); err != nil {
		return err
	}
	list := slices.Concat(h.Messages, h.Later)[t.messages:]
	if len(list) == 0 {
		return nil
	}
	var numbers, turns []int
	var roles, contents, messages []string
	for i, raw := range list {
		var m llm.Message
		_ = json.Unmarshal(raw, &m) // one that cannot be read has no role and no content
		numbers, turns = append(numbers, t.messages+i+1), append(turns, h.TurnOf(t.messages+i))
		roles, contents, messages = append(roles, shown(string(m.Role))), append(contents, shown(m.Text())), append(messages, string(raw))
	}
	_, err := tx.ExecContext(ctx, `insert into batch.messages (context_id, n, turn, role, content, message)
			select $1, * from unnest($2::int[], $3::int[], $4::text[], $5::text[], $6::text[])`,
		t.id, numbers, turns, roles, contents, messages)
	return err
}

func (t *tables) writeArtifacts(ctx context.Context, tx *sql.Tx) error {
	if t.artifacts == 0 { // there are none, or they were forgotten
		if _, err := tx.ExecContext(ctx, `delete from batch.artifacts where context_id = $1`, t.id); err != nil {
			return err
		}
	}
	for i, a := range t.follow.History().Artifacts[t.artifacts:] {
		_, err := tx.ExecContext(ctx, `insert into batch.artifacts (context_id, name, n, media_type, turn, saved, data)
				values ($1, $2, $3, $4, $5, $6, $7) on conflict (context_id, name) do update set
				n = excluded.n, media_type = excluded.media_type, turn = excluded.turn, saved = excluded.saved, data = excluded.data`,
			t.id, stored(a.Name), t.artifacts+i+1, stored(a.MediaType), a.Turn, a.Saved, append([]byte{}, a.Data...))
		if err != nil {
			return err
		}
	}
	return nil
}
