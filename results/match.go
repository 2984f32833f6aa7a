package results

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/journal"
)

// matchPredictions holds preds.json against the journals. An entry that equals
// its journal's is ours; one that is missing, or has been emptied, is put back;
// any other that differs was written by somebody else after us, and stands.
func (s *Store) matchPredictions(found []*recoveredInstance) (restored bool, err error) {
	slices.SortFunc(found, func(a, b *recoveredInstance) int {
		if c := a.tail.Last.Time.Compare(b.tail.Last.Time); c != 0 {
			return c
		}
		return strings.Compare(a.id, b.id)
	})
	count := 0
	for _, r := range found {
		entry := s.preds.get(r.id)
		switch {
		case r.digest == "":
		case entry == nil, entry.digest != r.digest && entry.foreign.patchBytes == 0:
			if entry, err = s.journalledPrediction(r); err != nil {
				return restored, err
			}
			s.preds.set(entry)
			count++
		case entry.digest == r.digest:
			entry.foreign = nil
		}
	}
	if count > 0 {
		s.tell("%s lacked %d predictions that the journals hold: put back", predsFile, count)
	}
	return count > 0, nil
}

// journalledPrediction reads the record that stands before the end record.
func (s *Store) journalledPrediction(r *recoveredInstance) (*prediction, error) {
	path := s.path(r.id, journalFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, atomicfile.Fault("opening a journal", err)
	}
	defer f.Close()
	before, err := journal.TailAt(f, r.tail.Begin)
	if err != nil {
		return nil, fault.New(fault.KindOf(err), "reading "+path, err)
	}
	var d predictionData
	if before.Last.Type == journal.TypePrediction {
		err = json.Unmarshal(before.Last.Data, &d)
	}
	if err == nil && d.digest() != r.digest {
		err = errors.New("it is not the one that the end record names")
	}
	if err != nil {
		return nil, fault.New(fault.Instance, "reading the prediction in "+path, err).
			WithHint("move the folder away to have the instance run again")
	}
	return newPrediction(r.id, d)
}
