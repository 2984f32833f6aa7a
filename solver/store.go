package solver

import (
	"context"
	"io"

	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// Store is where attempts are kept. It is safe for concurrent use.
type Store interface {
	// Open opens the instance's last attempt where that is to go on, else another one.
	Open(id string, under manifest.Settings) (Opened, error)
	// Put keeps what an attempt left behind; that is durable on return.
	Put(ctx context.Context, r *results.Result) error
}

// Opened is an attempt that was opened. Who has it closes it.
type Opened struct {
	Number  int
	Past    *journal.History // what is known of an attempt that goes on; else nil
	Journal Journal
	Log     io.Writer // of the instance
	Close   func() error
}

// Journal takes an attempt's records. See [journal.Writer], which is one.
type Journal interface {
	Append(typ string, data any) error
	Flush() error
	Sync() error
}

// In keeps attempts in a run directory of this machine.
func In(s *results.Store) Store { return directory{s} }

type directory struct{ *results.Store }

func (d directory) Open(id string, under manifest.Settings) (Opened, error) {
	a, past, err := d.Resume(id, under)
	if err != nil {
		return Opened{}, err
	}
	return Opened{Number: a.Number(), Past: past, Journal: a.Journal(), Log: a.Log(), Close: a.Close}, nil
}
