package scores

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// FromSnapshot returns the scores of a run directory.
func FromSnapshot(snap *results.Snapshot) Run {
	a := Run{Path: snap.Dir, Snapshot: snap, Notes: snap.Notes, Scores: map[string]Score{}}
	last := results.Latest(snap.Records)
	failed := 0
	var helped []string
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
		if r.Said > 0 && r.Outcome.Final() {
			helped = append(helped, id)
		}
		if r.Resolved != nil && r.Grade != nil && r.Grade.FailedInstall != "" {
			failed++
		}
	}
	if n := len(helped); n > 0 {
		a.Notes = append(slices.Clip(a.Notes), fmt.Sprintf("a person helped the agent at %s: %s", printable.Count(n, "instance", "instances"), printable.Some(helped, 5)))
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

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readBoard reads a submission to the leaderboard.
func (o Options) readBoard(dir string) (Side, error) {
	sub, err := swebench.ReadSubmission(dir, o.Instances)
	if err != nil {
		return Side{}, err
	}
	r := runOf(dir, sub.Verdicts)
	for id, s := range r.Scores {
		name := id + ".traj.json"
		if one, known := sub.Details[id]; known {
			s.Steps, s.Cost = one.Calls, one.Cost
		} else if filepath.IsLocal(name) {
			if stats, ok := results.TrajectoryStats(filepath.Join(dir, swebench.TrajsDir, name)); ok {
				s.Steps, s.Cost = &stats.Calls, &stats.Cost
			}
		}
		r.Scores[id] = s
	}
	return Side{Name: nameOf(dir), Model: sub.Model, Runs: []Run{r}}, nil
}

// runOf returns the run at a path from its verdicts, with repositories from the ids.
func runOf(path string, v swebench.Verdicts) Run {
	r := Run{Path: path, Scores: make(map[string]Score, len(v))}
	errs := 0
	for id, one := range v {
		s := Score{ID: id, Repo: RepoOf(id)}
		s.take(one)
		r.Scores[id] = s
		if one.Error {
			errs++
		}
	}
	r.noteErrors(errs)
	return r
}

// noteErrors notes how many errors of the harness are in the rate.
func (r *Run) noteErrors(n int) {
	if n > 0 {
		r.Notes = append(slices.Clip(r.Notes), "an error does not say whether the patch or the machine failed: "+printable.Count(n, "counts", "count")+" as not resolved, as in the harness's own figure")
	}
}

// take sets a score's fields from a verdict.
func (s *Score) take(v swebench.Verdict) {
	s.Left, s.Resolved = Reason(v.Left), nil
	if v.Left == "" {
		s.Resolved = &v.Resolved
	}
}
