package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
)

// attemptTable has one row per record, by instance id, then attempt. It has the verdict if any
// record is graded.
func attemptTable(records []results.Record) *printable.Table {
	graded := isGraded(records)
	left := []int{2}
	if graded {
		left = append(left, 3)
	}
	t := printable.Numbers(left...)
	add := func(instance, attempt, status, verdict string, rest ...string) {
		cells := []string{instance, attempt, status}
		if graded {
			cells = append(cells, verdict)
		}
		t.Add(append(cells, rest...)...)
	}
	add("instance", "attempt", "exit status", "verdict", "steps", "cost", "patch", "time")
	for _, r := range sorted(records) {
		add(OneLine(r.InstanceID, 60), fmt.Sprint(r.Attempt), OneLine(displayStatus(r), 30), verdictCell(r),
			fmt.Sprint(r.Steps), Dollars(r.Cost), fmt.Sprintf("%d B", r.PatchBytes), Seconds(r.Time.Total))
	}
	return t
}

// verdictCell is the verdict with remarks: "resolved, suspicious".
func verdictCell(r results.Record) string {
	var words []string
	if g := r.Grade; g != nil {
		words = append(words, g.Verdict.String())
		if g.Unstable {
			words = append(words, "unstable")
		}
		if len(g.Suspicious) > 0 {
			words = append(words, "suspicious")
		}
		if g.Doubt != "" {
			words = append(words, "in doubt")
		}
	}
	if r.Quarantined {
		words = append(words, "quarantined")
	}
	return strings.Join(words, ", ")
}

// sorted returns a copy that is sorted by instance id, then attempt.
func sorted(records []results.Record) []results.Record {
	return slices.SortedStableFunc(slices.Values(records), func(a, b results.Record) int {
		return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Attempt, b.Attempt))
	})
}
