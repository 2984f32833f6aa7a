package compare

import (
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
)

// mix says what is mixed in an entry. That of each directory is among its notes already; what
// its attempts have together may be more.
func (e *Entry) mix(attempts []scores.Attempt) {
	var list []*results.Snapshot
	alone := false
	for _, a := range attempts {
		if a.Snapshot != nil {
			list = append(list, a.Snapshot)
			alone = alone || results.MixedIn(a.Snapshot) != nil
		}
	}
	e.Mixed = results.MixedIn(list...)
	if !alone && e.Mixed != nil {
		e.Notes = append(e.Notes, e.Name+": "+e.Mixed.Note())
	}
}
