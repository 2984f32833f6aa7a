package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"

	"batch.example/batch/results"
)

// Instances writes one line per record, by instance id, then attempt.
func Instances(w io.Writer, records []results.Record) error {
	return buffered(w, func(b *bufio.Writer) { attemptTable(records).write(b) })
}

func attemptTable(records []results.Record) *table {
	t := &table{left: map[int]bool{2: true}}
	t.add("instance", "attempt", "exit status", "steps", "cost", "patch bytes", "time")
	for _, r := range sorted(records) {
		t.add(oneLine(r.InstanceID, 60), fmt.Sprint(r.Attempt), oneLine(displayStatus(r), 30),
			fmt.Sprint(r.Steps), dollars(r.Cost), fmt.Sprint(r.PatchBytes), seconds(r.Time.Total))
	}
	return t
}

// sorted returns a copy by instance id, then attempt.
func sorted(records []results.Record) []results.Record {
	return slices.SortedStableFunc(slices.Values(records), func(a, b results.Record) int {
		return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Attempt, b.Attempt))
	})
}
