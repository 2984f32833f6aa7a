package attempt

import (
	"context"
	"io"

	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// Store keeps attempts. It is safe for concurrent use.
type Store interface {
	// Open opens the instance's last attempt if it can be resumed, otherwise a new one.
	Open(id string, settings manifest.Settings) (Opened, error)
	// Put stores an attempt's result durably and returns its prediction; nil without one.
	Put(ctx context.Context, r *results.Result) (*results.Prediction, error)
}

// Opened is an open attempt. The caller must Close it.
type Opened struct {
	Number  int
	Past    *journal.History // of a resumed attempt; nil for a new one
	Journal session.Store
	Log     io.Writer // the instance's log
	Close   func() error
}

// In returns a Store that keeps attempts in a run directory on this machine.
func In(s *results.Store) Store { return directory{s} }

type directory struct{ *results.Store }

func (d directory) Open(id string, settings manifest.Settings) (Opened, error) {
	a, past, err := d.Resume(id, settings)
	if err != nil {
		return Opened{}, err
	}
	return Opened{Number: a.Number(), Past: past, Journal: a.Journal(), Log: a.Log(), Close: a.Close}, nil
}
