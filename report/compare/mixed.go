package compare

import (
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
)

// mix notes what is mixed in an entry. The notes of each directory already have its own mixture,
// but the attempts together may be mixed in more ways.
func (e *Side) mix(attempts []scores.Run) {
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
