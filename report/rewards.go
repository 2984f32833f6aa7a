package report

import (
	"fmt"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Rewards are the mean rewards of task folders. A reward is the one with the name reward, or the only
// one; a verdict without it counts as 0.
type Rewards struct {
	Mean   float64 `json:"mean"` // over the verdicts that count
	Graded int     `json:"graded"`
	// AsHarbor is the mean as Harbor counts: infrastructure failures are 0 too. Failed is how many.
	AsHarbor float64 `json:"as_harbor"`
	Failed   int     `json:"infrastructure_failures"`
}

// rewardsOf returns nil if no verdict has rewards. records has one record per instance.
func rewardsOf(records []results.Record) *Rewards {
	var r Rewards
	sum, found := 0.0, false
	for _, rec := range records {
		switch {
		case rec.Excused():
		case rec.Resolved != nil:
			r.Graded++
			found = found || rec.Grade.Rewards != nil
			if reward := rec.Grade.Reward(); reward != nil {
				sum += *reward
			}
		case rec.Outcome == vocab.OutcomeInfrastructure && !rec.Quarantined:
			r.Failed++
		}
	}
	if !found {
		return nil
	}
	r.Mean, r.AsHarbor = sum/float64(r.Graded), sum/float64(r.Graded+r.Failed)
	return &r
}

// text is a line for a person.
func (r *Rewards) text() string {
	text := fmt.Sprintf("mean reward %.3f of %d graded", r.Mean, r.Graded)
	if r.Failed > 0 {
		text += fmt.Sprintf("; as Harbor counts, with %s as 0: %.3f",
			printable.Count(r.Failed, "infrastructure failure", "infrastructure failures"), r.AsHarbor)
	}
	return text
}
