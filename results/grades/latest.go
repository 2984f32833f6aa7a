package grades

import (
	"slices"

	"batch.example/batch/vocab"
)

// Prediction identifies a graded prediction.
type Prediction struct {
	InstanceID string
	Attempt    int    // 0: another tool's
	Patch      string // its PatchDigest
}

// Prediction returns the prediction that g grades.
func (g *Grade) Prediction() Prediction { return Prediction{g.InstanceID, g.Attempt, g.Patch} }

// Latest returns for each prediction the grade that counts, from grades in the order of the
// file: the last one. But a grade without a counting verdict never replaces one that
// counts, unless it withdraws it, or the eval script or the image is known to be another one.
//
// Among executions repeated with --repeat, a grade with the most frequent verdict counts.
// Resolved counts only if all executions resolved; otherwise the most frequent other verdict
// does. Verdicts and Unstable are set in the grade.
func Latest(list []Grade) map[Prediction]Grade {
	sets := Executions(list)
	latest := make(map[Prediction]Grade, len(sets))
	for p, set := range sets {
		latest[p] = choose(set)
	}
	return latest
}

// Executions returns for each prediction the grades from which [Latest] chooses one: the
// last one, or all of the last repeated executions.
func Executions(list []Grade) map[Prediction][]Grade {
	sets := map[Prediction][]Grade{}
	for _, g := range list {
		p := g.Prediction()
		sets[p] = next(sets[p], g)
	}
	return sets
}

// next returns the grades that count when g follows set: one grade, or all of the repeated
// executions, which may be added in any order.
func next(set []Grade, g Grade) []Grade {
	if len(set) == 0 {
		return []Grade{g}
	}
	last := &set[len(set)-1]
	if last.Verdict.Counts() && !g.Withdraws && sameTests(last, &g) {
		if !g.Verdict.Counts() {
			return set
		}
		has := func(old Grade) bool { return old.Repeat == g.Repeat }
		judgedAlike := last.Parser == g.Parser && last.Rules == g.Rules && last.Basis == g.Basis
		if g.Repeat > 0 && last.Repeat > 0 && judgedAlike && !slices.ContainsFunc(set, has) {
			return append(set, g)
		}
	}
	return []Grade{g}
}

// sameTests reports whether two executions may have run the same eval script in the same
// image. Unknown values count as the same.
func sameTests(a, b *Grade) bool {
	same := func(x, y string) bool { return x == y || x == "" || y == "" }
	return same(a.Script, b.Script) && same(a.ImageID, b.ImageID)
}

// choose returns the grade that counts among repeated executions.
func choose(set []Grade) Grade {
	if len(set) == 1 && set[0].Repeat == 0 {
		return set[0]
	}
	votes := map[vocab.Verdict]int{}
	var verdicts []vocab.Verdict
	for _, g := range set {
		votes[g.Verdict]++
		verdicts = append(verdicts, g.Verdict)
	}
	rest := slices.DeleteFunc(slices.Clone(set), func(g Grade) bool { return len(votes) > 1 && g.Verdict == vocab.VerdictResolved })
	best := slices.MaxFunc(rest, func(a, b Grade) int {
		if n := votes[a.Verdict] - votes[b.Verdict]; n != 0 {
			return n
		}
		return order(a.Verdict) - order(b.Verdict)
	})
	best.Verdicts, best.Unstable = verdicts, len(votes) > 1
	return best
}

func order(v vocab.Verdict) int { return slices.Index(vocab.Verdicts(), v) }
