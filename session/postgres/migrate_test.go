package postgres_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"sync"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/session"
	"batch.example/batch/session/postgres"
)

// emptyDatabase returns a pool of connections to a new database.
func emptyDatabase(t *testing.T, name string) *sql.DB {
	t.Helper()
	server, err := shared()
	address, err := url.Parse(need(t, server, err).URL())
	if err != nil {
		t.Fatal(err)
	}
	admin, err := postgres.Connect(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.ExecContext(t.Context(), "create database "+name); err != nil {
		t.Fatal(err)
	}
	address.Path = "/" + name
	db, err := postgres.Connect(t.Context(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestManyProcessesMayMigrateAtOnce(t *testing.T) {
	db := emptyDatabase(t, "migrated")
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if err := postgres.Migrate(t.Context(), db); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := rows(t, db, `select count(*) || ' ' || max(version) from batch.migrations`); got[0] != fmt.Sprintf("%d %[1]d", postgres.Version) {
		t.Errorf("got %s, want each of the %d steps once", got, postgres.Version)
	}
}

func TestTablesOfANewerVersionAreRefused(t *testing.T) {
	db := emptyDatabase(t, "newer")
	if err := postgres.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `insert into batch.migrations values ($1)`, postgres.Version+1); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), db); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
		t.Errorf("got %v (%v), want a Usage fault with a hint", err, fault.KindOf(err))
	}
}

func TestWithoutTablesAPersonLearnsWhatToDo(t *testing.T) {
	db := emptyDatabase(t, "bare")
	_, err := postgres.Open(t.Context(), db, "a", session.Options{})
	_, err2 := postgres.List(t.Context(), db)
	for _, err := range []error{err, err2} {
		if fault.KindOf(err) != fault.Host || fault.HintOf(err) == "" {
			t.Errorf("got %v (%v), hint %q; want a Host fault with a hint", err, fault.KindOf(err), fault.HintOf(err))
		}
	}
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d connections are still in use", n)
	}
}

func TestAnAddressThatCannotBeUsed(t *testing.T) {
	for address, kind := range map[string]fault.Kind{
		"postgres://user:hush@host:port/db":               fault.Usage,
		"postgres://user:hush@127.0.0.1:1/db":             fault.Transient,
		"postgres:///db?host=/nowhere&password=hush":      fault.Transient,
		"postgres://user:hush@127.0.0.1/db?sslmode=maybe": fault.Usage,
	} {
		db, err := postgres.Connect(t.Context(), address)
		if fault.KindOf(err) != kind || db != nil {
			t.Errorf("%s: got %v (%v), want %v", address, err, fault.KindOf(err), kind)
		}
		if err != nil && contains(err.Error()+fault.HintOf(err), "hush") {
			t.Errorf("%s: the error has the password: %v", address, err)
		}
	}
}
