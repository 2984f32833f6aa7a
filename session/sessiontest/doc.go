// Package sessiontest tests what package session promises of a [session.Store], with
// sessions that run on it, in this process and in others. The tests of each store call [Run]
// and [Kill], and [Main] in the processes that these start.
package sessiontest

import (
	"context"
	"testing"

	"batch.example/batch/session"
)

// Store is the kind of store that is tested.
type Store struct {
	// Open opens a session at a place, which other processes can open too.
	Open  func(ctx context.Context, place, id string, o session.Options) (session.Store, error)
	Place string

	// Check compares what the store keeps of a session with its journal, after the session
	// was closed or its process has died; nil: it keeps nothing else.
	Check func(t *testing.T, id string)
}
