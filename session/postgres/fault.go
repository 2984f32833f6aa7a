package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"batch.example/batch/fault"
)

// SQLSTATE codes, and classes of them, that are used here.
const (
	lockNotAvailable   = "55P03"
	noTable            = "42P01"
	noSchema           = "3F000"
	diskFull           = "53100"
	tooManyConnections = "53300"
)

// transient are the classes and codes of errors that may go away by themselves.
var transient = []string{"08", "40", "53", "57", "58", lockNotAvailable, "25006", "XX"}

// failure classifies an error of the database. A cancellation stays one.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	if kind := fault.KindOf(err); kind != fault.Unknown {
		return fault.New(kind, op, err)
	}
	if fault.Canceled(err) {
		return err
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok { // the network, or the server is gone
		f := fault.New(fault.Transient, op, err)
		if errors.Is(err, context.DeadlineExceeded) {
			return f.WithHint("the database does not answer, or all connections that the pool may have are in use")
		}
		return f.WithHint("see whether the database is there; then try again")
	}
	switch refused.Code {
	case noTable, noSchema:
		return fault.New(fault.Host, op, err).WithHint("the database lacks the tables: call Migrate first")
	case diskFull:
		return fault.New(fault.Host, op, err).WithHint("free some space on the database's disk and try again")
	case tooManyConnections:
		return fault.New(fault.Transient, op, err).WithHint("each open session holds a connection: close some, or raise max_connections of the server")
	}
	for _, code := range transient {
		if strings.HasPrefix(refused.Code, code) {
			return fault.New(fault.Transient, op, err)
		}
	}
	return fault.New(fault.Host, op, err)
}
