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

// Choice says which instances of a run directory are run again: those with one of the ids,
// one of the statuses and one of the outcomes. An empty list does not restrict the choice.
type Choice struct{ IDs, Statuses, Outcomes []string }

// From returns the chosen ids, sorted.
func (c Choice) From(snap *results.Snapshot) ([]string, error) {
	for _, o := range c.Outcomes {
		if !slices.ContainsFunc(vocab.Outcomes(), func(known vocab.Outcome) bool { return strings.EqualFold(o, string(known)) }) {
			return nil, fault.Newf(fault.Usage, "unknown outcome %q", o).WithHint("outcomes are %s", listed(vocab.Outcomes()))
		}
	}
	last := results.Latest(snap.Records)
	known := snap.Asked()
	for _, id := range c.IDs {
		if _, found := slices.BinarySearch(known, id); !found {
			return nil, fault.Newf(fault.Usage, "%s has no instance %s", snap.Dir, id).WithHint("see `batch status %s --attempts`", snap.Dir)
		}
	}
	endings := map[string]bool{}
	var chosen []string
	for _, id := range known {
		r := results.LatestOf(last, id)
		endings[fmt.Sprintf("%s: %s", r.Outcome, r.Status)] = true // not its label, which --status does not take
		if among(c.IDs, id) && among(c.Statuses, string(r.Status)) && among(c.Outcomes, string(r.Outcome)) {
			chosen = append(chosen, id)
		}
	}
	if len(chosen) == 0 {
		return nil, fault.Newf(fault.Usage, "no instance of %s matches %s", snap.Dir, c).
			WithHint("its instances have: %s", strings.Join(slices.Sorted(maps.Keys(endings)), ", "))
	}
	return chosen, nil
}

func listed(outcomes []vocab.Outcome) string {
	var names []string
	for _, o := range outcomes {
		names = append(names, string(o))
	}
	return strings.Join(names, ", ")
}

// String returns the conditions as flags.
func (c Choice) String() string {
	parts := slices.Clone(c.IDs)
	if len(c.Statuses) > 0 {
		parts = append(parts, "--status "+strings.Join(c.Statuses, ","))
	}
	if len(c.Outcomes) > 0 {
		parts = append(parts, "--outcome "+strings.Join(c.Outcomes, ","))
	}
	return strings.Join(parts, " ")
}

// among reports whether value is one of wanted, or wanted is empty.
func among(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(w, value) })
}
