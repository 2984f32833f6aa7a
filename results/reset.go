package results

import (
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/python"
	"batch.example/batch/journal"
)

// Reset forgets the results of ids, so that they are no longer Finished: when it returns,
// preds.json does not have their predictions. Journals and costs are kept. Ids without a
// result are skipped; with unfinished, they are not resumed but start from the beginning.
func (s *Store) Reset(ids []string, unfinished bool) error {
	if err := s.check("resetting instances"); err != nil {
		return err
	}
	if err := s.dropPredictions(ids...); err != nil {
		return err
	}
	for _, id := range ids {
		s.mu.Lock()
		in := s.instances[id]
		s.mu.Unlock()
		if in == nil {
			continue
		}
		if err := s.resetInstance(in, unfinished); err != nil {
			return err
		}
	}
	s.writer.markDirty()
	return nil
}

func (s *Store) resetInstance(in *instance, unfinished bool) error {
	in.work.Lock()
	defer in.work.Unlock()
	s.mu.Lock()
	ended, past := in.state == final || unfinished && in.state.resumable(), slices.Clone(in.past)
	s.mu.Unlock()
	if !ended {
		return nil
	}
	a, opened, err := s.reopen(in)
	if err != nil {
		return err
	}
	if opened {
		defer a.Close() //nolint:errcheck // finish has synced everything
	}
	data, err := python.Compact(resetData{Earlier: past})
	if err != nil {
		return fault.New(fault.Bug, "encoding a reset record", err)
	}
	if err := a.journal.Finish(journal.Record{Type: journal.TypeReset, Data: data}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in.state = unstarted
	return nil
}

// dropPredictions removes entries from preds.json, durably, before their instances run
// again. So Open knows that another program wrote any entry that differs from the journal.
func (s *Store) dropPredictions(ids ...string) error {
	s.mu.Lock()
	dropped := false
	for _, id := range ids {
		dropped = s.preds.remove(id) || dropped
	}
	s.mu.Unlock()
	if !dropped {
		return nil
	}
	return s.writer.flushNow()
}
