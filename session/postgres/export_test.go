package postgres

import (
	"context"
	"database/sql"

	"batch.example/batch/journal"
)

// Version is the newest version of the tables.
var Version = version

// Stored and Loaded are the forms of a text in a row and outside.
var Stored, Loaded, Shown = stored, loaded, shown

// OpenJournal opens only the journal of a session.
func OpenJournal(ctx context.Context, db *sql.DB, id string) (journal.File, error) {
	f := &file{db: db, id: id}
	return f, f.open(ctx)
}
