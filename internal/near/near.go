// Package near finds the name that somebody most likely meant.
package near

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Name returns the one of names that is most like want, upper and lower case
// aside, or "" when none is alike: a third of the letters may differ, or two.
// Among equals it is the first in the alphabet.
func Name(want string, names []string) string {
	want = strings.ToLower(want)
	best, distance := "", 1+max(2, len(want)/3)
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := levenshtein.ComputeDistance(want, strings.ToLower(n)); d < distance {
			best, distance = n, d
		}
	}
	return best
}
