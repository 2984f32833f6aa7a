package session

import (
	"context"

	"batch.example/batch/journal"
)

// Last returns the last turn, with the metadata that it began with and how it ended; ok is
// false for a session without turns. A server that was killed uses it to find out what
// happened to the words that it had accepted.
func (s *Session) Last(context.Context) (last journal.Turn, ok bool, err error) {
	err = s.idle("reading the last turn", func() error {
		h, err := s.c.Store.HistoryHere()
		if err != nil || h.Turn() == nil {
			return err
		}
		last, ok = *h.Turn(), true
		return nil
	})
	return last, ok, err
}
