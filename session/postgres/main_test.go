package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"batch.example/batch/internal/pgtest"
	"batch.example/batch/session"
	"batch.example/batch/session/postgres"
	"batch.example/batch/session/sessiontest"
)

func TestMain(m *testing.M) {
	if value := os.Getenv(sessiontest.Variable); value != "" {
		if err := sessiontest.Main(value, os.Stdin, os.Stdout, sessiontest.Store{Open: open}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// stop ends the shared server, if there is one.
var stop = func() error { return nil }

// shared is the server of most tests.
var shared = sync.OnceValues(func() (*pgtest.Server, error) {
	s, err := pgtest.Start()
	if err == nil {
		stop = s.Stop
	}
	return s, err
})

// need returns a server. Without one installed, the test is skipped, unless
// BATCH_DOCKER=require makes that a failure.
func need(t testing.TB, s *pgtest.Server, err error) *pgtest.Server {
	t.Helper()
	if errors.Is(err, pgtest.ErrMissing) && os.Getenv("BATCH_DOCKER") != "require" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// database connects to the server at a URL and makes the tables.
func database(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := postgres.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := postgres.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// open opens a session in a process that has nothing open yet.
func open(ctx context.Context, url, id string, o session.Options) (session.Store, error) {
	db, err := postgres.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	s, err := postgres.Open(ctx, db, id, o)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return closing{s, db}, nil
}

// closing is a store that closes its pool too.
type closing struct {
	session.Store
	db *sql.DB
}

// Close implements [session.Store].
func (c closing) Close() error { return errors.Join(c.Store.Close(), c.db.Close()) }

// sessions are those in the shared server, with this test's own pool.
func sessions(t testing.TB) (sessiontest.Store, *sql.DB) {
	t.Helper()
	server, err := shared()
	url := need(t, server, err).URL()
	db := database(t, url)
	return sessiontest.Store{
		Place: url,
		Open: func(ctx context.Context, _, id string, o session.Options) (session.Store, error) {
			return postgres.Open(ctx, db, id, o)
		},
		Check: func(t *testing.T, id string) { sameAsJournal(t, db, id) },
	}, db
}
