// Package near finds the name that somebody most likely meant.
package near

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Hint returns the hint for an error about an unknown name: it asks whether best, the name
// that was probably meant, was meant, and adds rest. Best and rest may be "".
func Hint(best, rest string) string {
	if best == "" {
		return rest
	}
	return strings.TrimSpace("did you mean " + best + "? " + rest)
}

// Name returns the name that is most similar to want, ignoring case, or "" if none is
// similar: a third of the letters may differ, or two, but not all. Of equally similar
// names, it returns one that has all letters of want in their order, as a letter is left out
// more often than replaced; else the first in alphabetical order.
func Name(want string, names []string) string {
	want = strings.ToLower(want)
	best, distance := "", max(1, min(len(want), 1+max(2, len(want)/3)))
	for _, n := range slices.Sorted(slices.Values(names)) {
		d := levenshtein.ComputeDistance(want, strings.ToLower(n))
		if d < distance || best != "" && d == distance && hasLetters(n, want) && !hasLetters(best, want) {
			best, distance = n, d
		}
	}
	return best
}

// hasLetters reports whether name, in lower case, has all letters of want in their order.
func hasLetters(name, want string) bool {
	left := []rune(want)
	for _, r := range strings.ToLower(name) {
		if len(left) > 0 && left[0] == r {
			left = left[1:]
		}
	}
	return len(left) == 0
}
