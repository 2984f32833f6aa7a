package compare

import (
	"cmp"
	"fmt"

	"batch.example/batch/results/scores"
)

// without counts the instances that an entry was asked for and has no score of, by reason.
// Quarantined ones are in neither number: they are left out on purpose.
func (s side) without() (reasons map[scores.Reason]int, missing, asked int) {
	reasons = map[scores.Reason]int{}
	for _, r := range s.results {
		if r.left == scores.Quarantined {
			continue
		}
		asked++
		if !r.scored() {
			reasons[r.left]++
			missing++
		}
	}
	return reasons, missing, asked
}

// holdBack fails the gates of entries of which too many instances have no score: what is left
// need not be like the rest. most is the share that is allowed, 0 for half.
func holdBack(gates []Ruling, sides []side, most float64) {
	most = cmp.Or(most, 0.5)
	why := map[string]string{}
	for _, s := range sides {
		reasons, missing, asked := s.without()
		if float64(missing) > most*float64(asked) {
			why[s.scores.Name] = fmt.Sprintf("%d of the %d instances of %s have no score (%s)", missing, asked, s.scores.Name, ReasonWords(reasons))
		}
	}
	for i := range gates {
		g := &gates[i]
		if reason := cmp.Or(why[g.B], why[g.A]); g.Passed && reason != "" {
			g.Passed = false
			g.Text = fmt.Sprintf("gate failed: %s: %s, and more than %s may not be without one", g.Gate, reason, rate(most))
		}
	}
}
