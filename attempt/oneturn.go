package attempt

import (
	"batch.example/batch/attempt/session"
	"batch.example/batch/journal"
)

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
