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
// names, it returns the first in alphabetical order.
func Name(want string, names []string) string {
	want = strings.ToLower(want)
	best, distance := "", max(1, min(len(want), 1+max(2, len(want)/3)))
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := levenshtein.ComputeDistance(want, strings.ToLower(n)); d < distance {
			best, distance = n, d
		}
	}
	return best
}
