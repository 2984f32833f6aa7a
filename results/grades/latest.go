package grades

import (
	"slices"

	"batch.example/batch/vocab"
)

// Prediction identifies what was graded.
type Prediction struct {
	InstanceID string
	Attempt    int    // 0: another tool's
	Patch      string // its PatchDigest
}

// Prediction is what g is about.
func (g *Grade) Prediction() Prediction { return Prediction{g.InstanceID, g.Attempt, g.Patch} }

// Latest returns for each prediction the grade that counts, of grades in the order of the
// file: the last one, but a grade whose verdict does not count never replaces one that
// does, unless it is known to be of another eval script or another image.
//
// Of executions repeated with --repeat, the grade that counts has the verdict that most of
// them had, of those that are not resolved unless all are. Its Verdicts and Unstable are set.
func Latest(list []Grade) map[Prediction]Grade {
	sets := Executions(list)
	latest := make(map[Prediction]Grade, len(sets))
	for p, set := range sets {
		latest[p] = choose(set)
	}
	return latest
}

// Executions returns for each prediction the grades of which [Latest] chooses one: the last
// one, or all of the last repeated executions.
func Executions(list []Grade) map[Prediction][]Grade {
	sets := map[Prediction][]Grade{}
	for _, g := range list {
		p := g.Prediction()
		sets[p] = next(sets[p], g)
	}
	return sets
}

// next returns the grades that count once g follows those of set: one, or those of
// repeated executions, which may be added in any order.
func next(set []Grade, g Grade) []Grade {
	if len(set) == 0 {
		return []Grade{g}
	}
	last := &set[len(set)-1]
	if last.Verdict.Counts() && sameTests(last, &g) {
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

// sameTests reports whether two executions may have been of the same eval script in the
// same image. What is not known is taken as the same.
func sameTests(a, b *Grade) bool {
	same := func(x, y string) bool { return x == y || x == "" || y == "" }
	return same(a.Script, b.Script) && same(a.ImageID, b.ImageID)
}

// choose returns the grade that counts of repeated executions.
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
