package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"sync"

	"batch.example/batch/fault"
)

const (
	chunkSize = 256 << 10 // bytes of a journal in one row, at most
	ahead     = 128 << 10 // bytes that are read at once, at least
)

// file is a [journal.File] in the database. Each write is a transaction, which changes the
// tables too. It is safe for concurrent use.
type file struct {
	db      *sql.DB
	id      string
	opened  int64 // the count of this opening
	relaxed bool  // a crash of the server may lose the last writes

	mu     sync.Mutex
	conn   *sql.Conn // has the lock; nil if it was lost
	size   int64
	lost   error   // another process has the session, or the file is closed
	tables *tables // nil: the next write reads the journal and writes all of them

	window []byte // bytes that were read, from windowAt on
	from   int64
}

// Size implements [journal.File].
func (f *file) Size() (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.size, nil
}

// ReadAt implements [journal.File].
func (f *file) ReadAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.inWindow(p, at); n == len(p) {
		return n, nil
	}
	if at >= f.size {
		return 0, io.EOF
	}
	err := f.do(func(ctx context.Context, tx *sql.Tx) (err error) {
		f.window, err = read(ctx, tx, f.id, at, min(at+max(ahead, int64(len(p))), f.size))
		f.from = at
		return err
	})
	if err != nil {
		return 0, err
	}
	n := f.inWindow(p, at)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// inWindow copies what is known of the bytes at an offset. f.mu is held.
func (f *file) inWindow(p []byte, at int64) int {
	if at < f.from || at-f.from >= int64(len(f.window)) {
		return 0
	}
	return copy(p, f.window[at-f.from:])
}

// WriteAt implements [journal.File]. The bytes are whole lines; what was in the journal from
// at on is replaced. If it fails, nothing has changed, or all of it if the connection
// was lost at the end.
func (f *file) WriteAt(p []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.replace(p, at); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Truncate implements [journal.File].
func (f *file) Truncate(size int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if size >= f.size {
		return nil
	}
	return f.replace(nil, size)
}

// replace makes p what the journal has from at on. f.mu is held.
func (f *file) replace(p []byte, at int64) error {
	size := at + int64(len(p))
	err := f.do(func(ctx context.Context, tx *sql.Tx) error {
		if at > f.size { // at is what this file has written, unless the database was changed by others
			return fault.Newf(fault.Instance, "the journal of session %s has %d bytes in the database, and %d were written", f.id, f.size, at)
		}
		if f.relaxed {
			if _, err := tx.ExecContext(ctx, `set local synchronous_commit = off`); err != nil {
				return err
			}
		}
		if err := f.claim(ctx, tx, size); err != nil {
			return err
		}
		if at < f.size {
			f.tables = nil
			if err := cut(ctx, tx, f.id, at); err != nil {
				return err
			}
		}
		for from := 0; from < len(p); from += chunkSize {
			_, err := tx.ExecContext(ctx, `insert into batch.journal (context_id, at, bytes) values ($1, $2, $3)`,
				f.id, at+int64(from), p[from:min(from+chunkSize, len(p))])
			if err != nil {
				return err
			}
		}
		return f.derive(ctx, tx, p, size)
	})
	f.window = nil
	if err != nil {
		f.tables = nil // it may have read what was not written
		return err
	}
	f.size = size
	f.tables.written()
	return nil
}

// query calls fn in a transaction that only reads, with what is known of the journal.
func (f *file) query(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx, t *tables) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.do(func(own context.Context, tx *sql.Tx) error { // ending ctx would end the connection, and the lock
		if f.tables == nil {
			var err error
			if f.tables, err = f.known(own, tx, f.size); err != nil {
				return err
			}
		}
		return fn(own, tx, f.tables)
	})
}

// known reads the whole journal, of which no rows are known to be right.
func (f *file) known(ctx context.Context, tx *sql.Tx, size int64) (*tables, error) {
	t := newTables(f.id)
	if err := t.read(io.NewSectionReader(inTransaction{ctx, tx, f.id}, 0, size), size); err != nil {
		return nil, err
	}
	return t, nil
}

// claim fails unless this file is the session's last opening.
func (f *file) claim(ctx context.Context, tx *sql.Tx, size int64) error {
	res, err := tx.ExecContext(ctx, `update batch.sessions set size = $3 where context_id = $1 and opened = $2`, f.id, f.opened, size)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		f.lost = superseded()
		return f.lost
	}
	return nil
}

// derive changes the tables after p was added to the journal, whose size is then size.
// f.mu is held.
func (f *file) derive(ctx context.Context, tx *sql.Tx, p []byte, size int64) error {
	if f.tables != nil {
		if err := f.tables.read(bytes.NewReader(p), int64(len(p))); err != nil {
			return err
		}
		return f.tables.write(ctx, tx)
	}
	var err error
	if f.tables, err = f.known(ctx, tx, size); err != nil {
		return err
	}
	return f.tables.write(ctx, tx)
}

// Sync implements [journal.File]: each write has committed a transaction.
func (*file) Sync() error { return nil }

// Close implements [journal.File]: it gives the lock and the connection back.
func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	conn := f.conn
	f.conn, f.tables, f.window = nil, nil, nil
	f.lost = fault.New(fault.Bug, "using a closed store", sql.ErrConnDone)
	if conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := conn.ExecContext(ctx, `select pg_advisory_unlock(`+lockKey+`)`, f.id); err != nil {
		discard(conn) // the lock ends with it
		return nil
	}
	return conn.Close()
}

// do calls fn in a transaction on the connection that has the lock. f.mu is held.
func (f *file) do(fn func(ctx context.Context, tx *sql.Tx) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if f.lost != nil {
		return f.lost
	}
	if f.conn == nil {
		if err := f.again(ctx); err != nil {
			return failure("connecting to the database again", err)
		}
	}
	err := within(ctx, f.conn, func(tx *sql.Tx) error { return fn(ctx, tx) })
	if err != nil && f.conn.PingContext(ctx) != nil {
		discard(f.conn)
		f.conn = nil
	}
	return failure("using the database", err)
}

// cut removes the bytes of a session's journal from an offset on.
func cut(ctx context.Context, tx *sql.Tx, id string, at int64) error {
	if _, err := tx.ExecContext(ctx, `delete from batch.journal where context_id = $1 and at >= $2`, id, at); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `update batch.journal set bytes = substring(bytes from 1 for ($2 - at)::int)
		where context_id = $1 and at = (select max(at) from batch.journal where context_id = $1 and at < $2)`, id, at)
	return err
}

// read returns the bytes of a session's journal between two offsets.
func read(ctx context.Context, tx *sql.Tx, id string, from, to int64) ([]byte, error) {
	rows, err := tx.QueryContext(ctx, `select at, bytes from batch.journal where context_id = $1 and at < $3 and
		at >= coalesce((select max(at) from batch.journal where context_id = $1 and at <= $2), 0) order by at`, id, from, to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := make([]byte, 0, to-from)
	for rows.Next() {
		var at int64
		var chunk sql.RawBytes
		if err := rows.Scan(&at, &chunk); err != nil {
			return nil, err
		}
		skip := from + int64(len(all)) - at
		if skip < 0 || skip > int64(len(chunk)) {
			return nil, fault.Newf(fault.Instance, "the journal of session %s is damaged in the database: bytes are missing before byte %d", id, at)
		}
		all = append(all, chunk[skip:min(int64(len(chunk)), to-at)]...)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if int64(len(all)) < to-from {
		return nil, fault.Newf(fault.Instance, "the journal of session %s is damaged in the database: it ends at byte %d of %d", id, from+int64(len(all)), to)
	}
	return all, nil
}

// inTransaction reads a session's journal within a transaction.
type inTransaction struct {
	ctx context.Context
	tx  *sql.Tx
	id  string
}

// ReadAt implements [io.ReaderAt], for reads within the journal.
func (r inTransaction) ReadAt(p []byte, at int64) (int, error) {
	b, err := read(r.ctx, r.tx, r.id, at, at+int64(len(p)))
	return copy(p, b), err
}
