package dataset

import "batch.example/batch/internal/near"

// didYouMean returns a sentence for a hint, or "" when no name is alike.
func didYouMean(want string, names []string) string {
	if n := near.Name(want, names); n != "" {
		return "did you mean " + n + "? "
	}
	return ""
}
