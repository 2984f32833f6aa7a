package run

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Choice says which instances of a run directory are run again. What is given narrows:
// of the ids, those with one of the statuses and one of the outcomes.
type Choice struct{ IDs, Statuses, Outcomes []string }

// From returns the ids that are chosen, sorted.
func (c Choice) From(snap *results.Snapshot) ([]string, error) {
	last := results.Latest(snap.Records)
	known := snap.Asked()
	for _, id := range c.IDs {
		if _, found := slices.BinarySearch(known, id); !found {
			return nil, fault.Newf(fault.Usage, "%s has no instance %s", snap.Dir, id).WithHint("see `batch status %s --attempts`", snap.Dir)
		}
	}
	there := map[string]bool{}
	var chosen []string
	for _, id := range known {
		r, ok := last[id]
		if !ok {
			r = results.Record{Outcome: vocab.OutcomePending}
		}
		there[fmt.Sprintf("%s (%s)", r.Outcome, r.Status)] = true
		if among(c.IDs, id) && among(c.Statuses, string(r.Status)) && among(c.Outcomes, string(r.Outcome)) {
			chosen = append(chosen, id)
		}
	}
	if len(chosen) == 0 {
		return nil, fault.Newf(fault.Usage, "no instance of %s ended so", snap.Dir).
			WithHint("there are: %s", strings.Join(slices.Sorted(maps.Keys(there)), ", "))
	}
	return chosen, nil
}

// among reports whether a value passes a choice that may be none at all.
func among(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(w, value) })
}
