package scores

import (
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/swebench"
)

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
