package dataset

import (
	"slices"

	"github.com/agnivade/levenshtein"
)

// nearest returns the name most like want, or "" when none is alike.
func nearest(want string, names []string) string {
	best, distance := "", 1+max(2, len(want)/3)
	for _, n := range slices.Sorted(slices.Values(names)) {
		if d := levenshtein.ComputeDistance(want, n); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// didYouMean returns a sentence for a hint, or "" when no name is alike.
func didYouMean(want string, names []string) string {
	if n := nearest(want, names); n != "" {
		return "did you mean " + n + "? "
	}
	return ""
}
