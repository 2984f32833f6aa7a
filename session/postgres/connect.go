package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"batch.example/batch/fault"
)

// Connect returns the pool of connections to the database at a URL
// (postgres://user@host/database) or a string of keywords, and checks that it answers. The
// caller must close it, after the stores. Each open store holds one of its connections.
func Connect(ctx context.Context, url string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fault.New(fault.Usage, "reading the address of a database", err) // without the password
	}
	db := stdlib.OpenDB(*config)
	if err := db.PingContext(ctx); err != nil {
		db.Close()
		return nil, failure("connecting to the database", err)
	}
	return db, nil
}
