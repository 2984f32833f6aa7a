package postgres

import (
	"context"
	"database/sql"
	"encoding/json"

	"batch.example/batch/fault"
	"batch.example/batch/session"
)

// store is a session's store. What was committed is read from the tables; with
// [session.Options.Manual] there is more in memory, and the journal is read.
type store struct {
	*session.FileStore
	f      *file
	manual bool
}

// Messages implements [session.MessageStore].
func (s *store) Messages(ctx context.Context, q session.Query) ([]session.Message, error) {
	if s.manual {
		return s.FileStore.Messages(ctx, q)
	}
	if err := s.Flush(); err != nil {
		return nil, err
	}
	last := sql.NullInt64{Int64: int64(q.Last), Valid: q.Last > 0}
	var list []session.Message
	err := s.f.query(ctx, func(ctx context.Context, tx *sql.Tx, t *tables) error {
		rows, err := tx.QueryContext(ctx, `select turn, message from (select n, turn, message from batch.messages
			where context_id = $1 and turn <> all($2) order by n desc limit $3) as chosen order by n`, s.f.id, t.before(q.Since), last)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var m session.Message
			var raw []byte
			if err := rows.Scan(&m.Turn, &raw); err != nil {
				return err
			}
			if err := json.Unmarshal(raw, &m.Message); err != nil {
				return fault.New(fault.Instance, "reading a message of session "+s.f.id, err)
			}
			list = append(list, m)
		}
		return rows.Err()
	})
	return list, err
}

// Artifacts implements [session.ArtifactStore].
func (s *store) Artifacts(ctx context.Context) ([]session.Artifact, error) {
	if s.manual {
		return s.FileStore.Artifacts(ctx)
	}
	if err := s.Flush(); err != nil {
		return nil, err
	}
	var list []session.Artifact
	err := s.f.query(ctx, func(ctx context.Context, tx *sql.Tx, _ *tables) error {
		rows, err := tx.QueryContext(ctx, `select name, media_type, turn, saved, data from batch.artifacts
			where context_id = $1 order by n`, s.f.id)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var a session.Artifact
			if err := rows.Scan(&a.Name, &a.MediaType, &a.Turn, &a.Saved, &a.Data); err != nil {
				return err
			}
			if a.Name, err = loaded(a.Name); err != nil {
				return err
			}
			if a.MediaType, err = loaded(a.MediaType); err != nil {
				return err
			}
			a.Saved = a.Saved.UTC()
			list = append(list, a)
		}
		return rows.Err()
	})
	return list, err
}

// State implements [session.StateStore].
func (s *store) State(ctx context.Context) (st session.State, ok bool, err error) {
	if s.manual {
		return s.FileStore.State(ctx)
	}
	if err := s.Flush(); err != nil {
		return st, false, err
	}
	err = s.f.query(ctx, func(ctx context.Context, tx *sql.Tx, _ *tables) error {
		st, err = scanState(tx.QueryRowContext(ctx, `select `+stateColumns+` from batch.sessions where context_id = $1`, s.f.id))
		return err
	})
	if err != nil || st.Status == session.Created {
		return session.State{}, false, err
	}
	return st, true, nil
}
