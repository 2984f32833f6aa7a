package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"batch.example/batch/session"
)

const stateColumns = `context_id, status, turns, retry, created, last_activity, error, calls, cost, metadata`

// List returns the states of all sessions, the last active first. It takes no locks. A
// session whose turn was running when its process died is ready, and its turn can be
// tried again.
func List(ctx context.Context, db *sql.DB) ([]session.State, error) {
	list, err := states(ctx, db)
	return list, failure("listing the sessions", err)
}

// held are the keys of the advisory locks of this database.
const held = `with held as materialized (
	select (classid::bigint << 32) | objid::bigint as key from pg_locks where locktype = 'advisory' and objsubid = 1
	and granted and database = (select oid from pg_database where datname = current_database()))
`

func states(ctx context.Context, db *sql.DB) (list []session.State, err error) {
	rows, err := db.QueryContext(ctx, held+`select `+stateColumns+`,
		hashtextextended('batch.session:' || context_id, 0) in (select key from held)
		from batch.sessions order by last_activity desc, context_id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var open bool
		s, err := scanState(rows, &open)
		if err != nil {
			return nil, err
		}
		if s.Status == session.Busy && !open {
			s.Status, s.Retry, s.Error = session.Ready, true, fmt.Sprintf("turn %d was interrupted", s.Turns)
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// scanState reads a row with the columns of a state, and more.
func scanState(row interface{ Scan(to ...any) error }, more ...any) (s session.State, err error) {
	var metadata []byte
	err = row.Scan(append([]any{
		&s.ContextID, &s.Status, &s.Turns, &s.Retry, &s.Created, &s.LastActivity, &s.Error, &s.Calls, &s.Cost, &metadata,
	}, more...)...)
	if err != nil {
		return s, err
	}
	s.Created, s.LastActivity = s.Created.UTC(), s.LastActivity.UTC()
	if s.Error, err = loaded(s.Error); err != nil {
		return s, err
	}
	if err := json.Unmarshal(metadata, &s.Metadata); err != nil {
		return s, err
	}
	s.Metadata, err = loadedMap(s.Metadata)
	return s, err
}
