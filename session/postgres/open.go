package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/session"
)

const (
	// lockWait is how long an opening waits for the lock, which a process that has died
	// holds until the server sees that.
	lockWait = "500ms"
	// patience is how long the database may take for one transaction, or to connect again.
	patience = time.Minute
)

// lockKey is the key of the advisory lock of the session with the id that is the first
// parameter. No other program should use the same space of keys by chance.
const lockKey = `hashtextextended('batch.session:' || $1, 0)`

// Open opens the session with a context id, which it makes if it is missing, in the tables
// of [Migrate]. The store holds one connection of db until it is closed; if db may have no
// more of them, Open waits until ctx ends. If another store, in this process or in another,
// has the session open, [session.ErrInUse] is in the chain of the error.
func Open(ctx context.Context, db *sql.DB, id string, o session.Options) (session.Store, error) {
	if err := session.CheckID(id); err != nil {
		return nil, err
	}
	f := &file{db: db, id: id, relaxed: o.Durability == journal.Process}
	if err := f.open(ctx); err != nil {
		return nil, failure("opening session "+id, err)
	}
	s, err := session.OpenFile(id, f, o)
	if err != nil {
		return nil, failure("opening session "+id, err)
	}
	return &store{FileStore: s, f: f, manual: o.Manual}, nil
}

// open locks the session, and makes it if it is missing.
func (f *file) open(ctx context.Context) error {
	conn, err := f.lock(ctx)
	if err != nil {
		return err
	}
	err = conn.QueryRowContext(ctx, `insert into batch.sessions (context_id, opened) values ($1, 1)
		on conflict (context_id) do update set opened = sessions.opened + 1 returning opened, size`, f.id).Scan(&f.opened, &f.size)
	if err != nil {
		discard(conn)
		return err
	}
	f.conn = conn
	return nil
}

// again connects and locks again after the connection was lost. f.mu is held.
func (f *file) again(ctx context.Context) error {
	conn, err := f.lock(ctx)
	if err != nil {
		return err
	}
	var opened int64
	err = conn.QueryRowContext(ctx, `select opened, size from batch.sessions where context_id = $1`, f.id).Scan(&opened, &f.size)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && opened != f.opened:
		f.lost = superseded()
		err = f.lost
	}
	if err != nil {
		discard(conn)
		return err
	}
	f.conn = conn
	return nil
}

// superseded is the fault of a store that may not write any more.
func superseded() error {
	return fault.New(fault.Usage, "this store has lost the session, or it was deleted", session.ErrInUse)
}

// lock takes a connection and, on it, the session's lock.
func (f *file) lock(ctx context.Context) (*sql.Conn, error) {
	conn, err := f.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	err = within(ctx, conn, func(tx *sql.Tx) error { // the lock outlives the transaction
		if _, err := tx.ExecContext(ctx, `set local lock_timeout = '`+lockWait+`'`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `select pg_advisory_lock(`+lockKey+`)`, f.id)
		return err
	})
	if err == nil {
		return conn, nil
	}
	discard(conn)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == lockNotAvailable {
		return nil, fault.New(fault.Usage, "", session.ErrInUse)
	}
	return nil, err
}

// discard closes a connection for good, and with it ends its locks.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the error that was asked for
	_ = conn.Close()
}
