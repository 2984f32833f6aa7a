package selecting

import (
	"bytes"
	"cmp"
	"slices"

	"batch.example/batch/internal/lazy"
)

// candidate is the patch of one attempt.
type candidate struct {
	Attempt int // its number, from 1; each occurs once
	Patch   []byte
}

// empty reports whether a candidate changes nothing.
func (c candidate) empty() bool { return len(bytes.TrimSpace(c.Patch)) == 0 }

// group is a patch with the attempts that made it.
type group struct {
	candidate       // the first of them
	Attempts  []int // all of them, ascending
}

var (
	indexLine = lazy.Regexp(`(?m)^index [0-9a-f]+\.\.[0-9a-f]+( [0-7]+)?\r?\n`)
	hunkLine  = lazy.Regexp(`(?m)^(@@ -[0-9,]+ \+[0-9,]+ @@).*$`)
)

// normal returns a patch without parts that do not change its effect: git's index lines, the text
// after the line numbers of a hunk, and empty lines at both ends.
func normal(patch []byte) string {
	patch = indexLine().ReplaceAll(patch, nil)
	patch = hunkLine().ReplaceAll(patch, []byte("$1"))
	return string(bytes.Trim(patch, "\r\n"))
}

// groupsOf returns the different patches to choose from, the most frequent first. Equally frequent
// ones are ordered by the number of their first attempt, so that the first group is the majority's
// choice. Patches are compared byte by byte, except for git's index lines, the text after the line
// numbers of a hunk, and empty lines at both ends. Empty patches are a group only if there are no
// others.
func groupsOf(list []candidate) []group {
	list = slices.SortedFunc(slices.Values(list), func(a, b candidate) int { return cmp.Compare(a.Attempt, b.Attempt) })
	at := map[string]int{}
	var groups, empty []group
	for _, c := range list {
		if c.empty() {
			if empty == nil {
				empty = []group{{candidate: c}}
			}
			empty[0].Attempts = append(empty[0].Attempts, c.Attempt)
			continue
		}
		key := normal(c.Patch)
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key] = i
			groups = append(groups, group{candidate: c})
		}
		groups[i].Attempts = append(groups[i].Attempts, c.Attempt)
	}
	if groups == nil {
		return empty
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(len(b.Attempts), len(a.Attempts)) })
	return groups
}

// groupOf returns the group that an attempt belongs to, and false if it belongs to none.
func groupOf(groups []group, attempt int) (group, bool) {
	i := slices.IndexFunc(groups, func(g group) bool { return slices.Contains(g.Attempts, attempt) })
	if i < 0 {
		return group{}, false
	}
	return groups[i], true
}
