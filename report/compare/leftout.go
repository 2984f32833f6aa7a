package compare

import (
	"cmp"
	"fmt"

	"batch.example/batch/results/scores"
)

// without counts the instances of an entry that have no score, by reason. Quarantined instances are
// in neither number: they are left out on purpose.
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

// together counts the instances that both sides know, and how many of them have no score on at
// least one side. Quarantined instances do not count.
func together(a, b side) (missing, asked int) {
	for id, r := range b.results {
		other, known := a.results[id]
		if !known || r.left == scores.Quarantined || other.left == scores.Quarantined {
			continue
		}
		asked++
		if !r.scored() || !other.scored() {
			missing++
		}
	}
	return missing, asked
}

// holdBack fails the gates of entries and of pairs if too many instances have no score: the
// remaining ones need not be representative. most is the allowed share; 0 is half.
func holdBack(gates []Ruling, sides []side, most float64) {
	most = cmp.Or(most, 0.5)
	why, named := map[string]string{}, map[string]side{}
	for _, s := range sides {
		named[s.scores.Name] = s
		reasons, missing, asked := s.without()
		if float64(missing) > most*float64(asked) {
			why[s.scores.Name] = fmt.Sprintf("%d of the %d instances of %s have no score (%s)", missing, asked, s.scores.Name, ReasonWords(reasons))
		}
	}
	for i := range gates {
		g := &gates[i]
		reason := cmp.Or(why[g.B], why[g.A])
		if missing, asked := together(named[g.A], named[g.B]); reason == "" && float64(missing) > most*float64(asked) {
			reason = fmt.Sprintf("%d of the %d instances of %s and %s have no score on one side", missing, asked, g.A, g.B)
		}
		if g.Passed && reason != "" {
			g.Passed = false
			g.Text = fmt.Sprintf("gate failed: %s: %s, and more than %s may not be without one", g.Gate, reason, rate(most))
		}
	}
}
