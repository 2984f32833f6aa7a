package selection

import "slices"

// Passes counts the tests that the code of a candidate passed.
type Passes struct {
	Attempt int // the candidate's attempt
	Tests   int // passed, of all tests that the candidates add or change
}

// ByTests returns the group with the code that passed the most tests; scores have the first attempt
// of each group. A group without a score passed none. Among equal scores the majority decides. It
// returns false if there is no group.
func ByTests(groups []Group, scores []Passes) (Group, bool) {
	if len(groups) == 0 {
		return Group{}, false
	}
	passed := map[int]int{}
	for _, s := range scores {
		passed[s.Attempt] = s.Tests
	}
	best := groups[0] // groups are in the order of the majority
	for _, g := range groups[1:] {
		if passed[g.Attempt] > passed[best.Attempt] {
			best = g
		}
	}
	return best, true
}

// Of returns the group that an attempt belongs to, and false if it belongs to none.
func Of(groups []Group, attempt int) (Group, bool) {
	i := slices.IndexFunc(groups, func(g Group) bool { return slices.Contains(g.Attempts, attempt) })
	if i < 0 {
		return Group{}, false
	}
	return groups[i], true
}
