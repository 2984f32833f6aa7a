package scores

import (
	"os"
	"path/filepath"

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
	all := scoresOf(sub.Verdicts)
	for id, s := range all {
		name := id + ".traj.json"
		if one, known := sub.Details[id]; known {
			s.Steps, s.Cost = one.Calls, one.Cost
		} else if filepath.IsLocal(name) {
			if stats, ok := results.TrajectoryStats(filepath.Join(dir, swebench.TrajsDir, name)); ok {
				s.Steps, s.Cost = &stats.Calls, &stats.Cost
			}
		}
		all[id] = s
	}
	return Side{Name: nameOf(dir), Model: sub.Model, Runs: []Run{{Path: dir, Scores: all}}}, nil
}

// scoresOf converts verdicts into scores, with repositories from the ids.
func scoresOf(v swebench.Verdicts) map[string]Score {
	all := make(map[string]Score, len(v))
	for id, one := range v {
		s := Score{ID: id, Repo: RepoOf(id)}
		s.take(one)
		all[id] = s
	}
	return all
}

// take sets a score's fields from a verdict.
func (s *Score) take(v swebench.Verdict) {
	s.Left, s.Resolved = Reason(v.Left), nil
	if v.Left == "" {
		s.Resolved = &v.Resolved
	}
}
