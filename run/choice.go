package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Choice says which instances of a run directory run again. Their id, status, outcome and
// verdict must each be in the list; an empty list does not restrict the choice.
type Choice struct{ IDs, Statuses, Outcomes, Verdicts []string }

// Empty reports whether c restricts nothing.
func (c Choice) Empty() bool { return len(c.IDs)+len(c.Statuses)+len(c.Outcomes)+len(c.Verdicts) == 0 }

// From returns the chosen ids, sorted.
func (c Choice) From(snap *results.Snapshot) ([]string, error) {
	if err := errors.Join(check("outcome", c.Outcomes, vocab.Outcomes()), check("verdict", c.Verdicts, vocab.Verdicts())); err != nil {
		return nil, err
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
		ending, verdict := fmt.Sprintf("%s: %s", r.Outcome, r.Status), "" // not its label, which --status does not take
		if r.Grade != nil {
			verdict = string(r.Grade.Verdict)
			ending += " (" + verdict + ")"
		}
		endings[ending] = true
		if among(c.IDs, id) && among(c.Statuses, string(r.Status)) && among(c.Outcomes, string(r.Outcome)) && among(c.Verdicts, verdict) {
			chosen = append(chosen, id)
		}
	}
	if len(chosen) == 0 {
		return nil, fault.Newf(fault.Usage, "no instance of %s matches %s", snap.Dir, c).
			WithHint("its instances have: %s", strings.Join(slices.Sorted(maps.Keys(endings)), ", "))
	}
	return chosen, nil
}

// check refuses an unknown word.
func check[W ~string](what string, words []string, known []W) error {
	var names []string
	for _, k := range known {
		names = append(names, string(k))
	}
	for _, w := range words {
		if !among(names, w) {
			return fault.Newf(fault.Usage, "unknown %s %q", what, w).WithHint("%ss are %s", what, strings.Join(names, ", "))
		}
	}
	return nil
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
	if len(c.Verdicts) > 0 {
		parts = append(parts, "--verdict "+strings.Join(c.Verdicts, ","))
	}
	return strings.Join(parts, " ")
}

// among reports whether value is one of wanted, or wanted is empty.
func among(wanted []string, value string) bool {
	return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(w, value) })
}
