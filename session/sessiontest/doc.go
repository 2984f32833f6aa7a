// Package sessiontest tests what package session promises of sessions that are kept in a
// [session.Store], in this process and in others. The tests of each store call [Run]; where
// other processes can open it, also [Kill], and [Main] in the processes that it starts.
package sessiontest

import "batch.example/batch/session"

// Store is the kind of store that is tested.
type Store struct {
	// Open opens a session at a place, and records that its attempt began or is resumed.
	Open  func(place, id string) (Opened, error)
	Place string
}

// Opened is a store that was opened, and is closed after its session.
type Opened interface {
	session.Store
	Close() error
}
