package scores

import (
	"cmp"
	"fmt"
	"slices"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// FromSnapshot returns the scores of a run directory.
func FromSnapshot(snap *results.Snapshot) Run {
	a := Run{Path: snap.Dir, Snapshot: snap, Notes: snap.Notes, Scores: map[string]Score{}}
	last := results.Latest(snap.Records)
	failed := 0
	var known []results.Record // those with a cost
	for _, id := range snap.Asked() {
		r := results.LatestOf(last, id)
		s := fromRecord(r)
		if digest, known := snap.Patches[id]; known {
			s.Patch = &digest
		}
		a.Scores[id] = s
		if s.Cost != nil {
			known = append(known, r)
		}
		if r.Resolved != nil && r.Grade != nil && r.Grade.FailedInstall != "" {
			failed++
		}
	}
	if failed > 0 {
		a.Notes = append(slices.Clip(a.Notes), fmt.Sprintf("an install of the eval script failed in %d of its verdicts", failed))
	}
	if note := missed(results.UnansweredOf(known)); note != "" {
		a.Notes = append(slices.Clip(a.Notes), note)
	}
	return a
}

// missed returns a note that costs are lower bounds; empty if they are not.
func missed(u results.Unanswered) string {
	switch {
	case u.Held > 0:
		return fmt.Sprintf("its costs are without %s, up to %s together", u.Words(), printable.Dollars(u.Held))
	case u.Unpriced > 0:
		return "its costs are without " + u.Words()
	}
	return ""
}

// fromRecord returns the score of the attempt that counts.
func fromRecord(r results.Record) Score {
	s := Score{ID: r.InstanceID, Repo: cmp.Or(r.Repo, RepoOf(r.InstanceID)), Resolved: r.Resolved, Left: left(r)}
	if s.Left != "" {
		s.Resolved = nil
	}
	if r.Measured() && r.Outcome.Final() {
		s.Steps, s.Cost, s.Held, s.Unpriced = &r.Steps, &r.Cost, r.Held, r.Unpriced
	}
	if r.Time.Total > 0 && r.Outcome.Final() {
		s.Seconds = &r.Time.Total
	}
	return s
}

// left returns why a record has no score; empty if it has one.
func left(r results.Record) Reason {
	switch {
	case r.Quarantined:
		return Quarantined
	case r.Outcome == vocab.OutcomeInfrastructure:
		return Infrastructure
	case !r.Outcome.Final():
		return NoResult
	case r.Resolved != nil:
		return ""
	case r.Grade != nil && r.Grade.Verdict == vocab.VerdictInfrastructure:
		return Infrastructure
	default:
		return NotGraded
	}
}
