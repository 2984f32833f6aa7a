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

// oneTurn is the journal of a batch run's attempt, as the store of a session. Its only turn
// begins and ends with the attempt. The attempt's own records say both, so the records of a
// session are left out.
type oneTurn struct {
	session.Store
	history *journal.History
	left    bool // the last record was left out
}

// opened is the history of an attempt before this process, with its turn; past may be nil.
func opened(past *journal.History, task string) *journal.History {
	if past == nil {
		past = &journal.History{}
	}
	past.Turns = []journal.Turn{{TurnData: journal.TurnData{Turn: 1, Words: task}}}
	return past
}

// HistoryHere implements [session.Store].
func (o *oneTurn) HistoryHere() (*journal.History, error) { return o.history, nil }

// Append implements [session.Store].
func (o *oneTurn) Append(typ string, data any) error {
	switch typ {
	case journal.TypeSession, journal.TypeRetry, journal.TypeTurnEnd:
		o.left = true
		return nil
	}
	o.left = false
	return o.Store.Append(typ, data)
}

// Sync implements [session.Store]. After a record that was left out, it does not wait for the
// disk: the next kept record is synced with all before it.
func (o *oneTurn) Sync() error {
	if o.left {
		return nil
	}
	return o.Store.Sync()
}
