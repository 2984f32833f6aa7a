package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"slices"

	"batch.example/batch/fault"
)

// migrations are the steps from one version of the tables to the next. Once published, a
// step never changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

// version is the newest version of the tables that this package knows.
var version = func() int {
	steps, err := migrations.ReadDir("migrations")
	if err != nil {
		panic(err) // they are part of the program
	}
	return len(steps)
}()

// Migrate makes the tables, or brings older ones to the newest version. It may be called at
// every start, by many processes at once, also while stores are open. A database that a
// newer version of this package has migrated is refused.
func Migrate(ctx context.Context, db *sql.DB) error {
	err := within(ctx, db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `select pg_advisory_xact_lock(hashtextextended('batch.migrate', 0))`); err != nil {
			return err
		}
		from, err := versionOf(ctx, tx)
		if err != nil {
			return err
		}
		if from > version {
			return fault.Newf(fault.Usage, "the tables have version %d, newer than %d", from, version).
				WithHint("they were made by a newer batch: use that version")
		}
		for n := from + 1; n <= version; n++ {
			if err := migrate(ctx, tx, n); err != nil {
				return err
			}
		}
		return nil
	})
	return failure("migrating the tables of sessions", err)
}

// versionOf returns the version of the tables; 0 if there are none.
func versionOf(ctx context.Context, tx *sql.Tx) (n int, err error) {
	var exists bool
	if err := tx.QueryRowContext(ctx, `select to_regclass('batch.migrations') is not null`).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, `select coalesce(max(version), 0) from batch.migrations`).Scan(&n)
	return n, err
}

func migrate(ctx context.Context, tx *sql.Tx, n int) error {
	step, err := migrations.ReadFile(fmt.Sprintf("migrations/%d.sql", n))
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, string(step)); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `insert into batch.migrations (version) values ($1)`, n)
	return err
}

// beginner is a *sql.DB or a *sql.Conn.
type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// within calls do in a transaction, which is committed if do returns nil.
func within(ctx context.Context, b beginner, do func(tx *sql.Tx) error) error {
	tx, err := b.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		if undone := tx.Rollback(); undone != nil && !slices.Contains([]error{sql.ErrTxDone, sql.ErrConnDone}, undone) {
			return errors.Join(err, undone)
		}
		return err
	}
	return tx.Commit()
}
