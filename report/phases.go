package report

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"

	"batch.example/batch/results"
)

// writePhases says where the time of all attempts went, summed over workers.
// Waiting for a worker comes before an attempt and is not in its total.
func writePhases(b *bufio.Writer, d SummaryData, asked []string) {
	var p results.Phases
	for _, r := range d.Records {
		if _, ok := slices.BinarySearch(asked, r.InstanceID); ok {
			addPhases(&p, r.Time)
		}
	}
	if p.Total <= 0 {
		return
	}
	fmt.Fprintf(b, "time %s in attempts:", seconds(p.Total))
	var parts []string
	for _, ph := range phasesOf(p) {
		if ph.v > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%s)", ph.name, seconds(ph.v), percent(ph.v, p.Total)))
		}
	}
	writeWrapped(b, " ", parts)
}

// phase is one part of an attempt, with its seconds.
type phase struct {
	name string
	v    float64
}

// phasesOf takes the wait for rate limits out of the model's time.
func phasesOf(p results.Phases) []phase {
	return []phase{
		{"pull", p.Pull},
		{"start", p.Start},
		{"scrub", p.ScrubWait},
		{"model", p.Model - p.RateWait},
		{"rate limit", p.RateWait},
		{"commands", p.Commands},
		{"save", p.Save},
	}
}

func addPhases(sum *results.Phases, p results.Phases) {
	sum.Queue += p.Queue
	sum.Pull += p.Pull
	sum.Start += p.Start
	sum.Scrub += p.Scrub
	sum.ScrubWait += p.ScrubWait
	sum.Model += p.Model
	sum.RateWait += p.RateWait
	sum.Commands += p.Commands
	sum.Save += p.Save
	sum.Total += p.Total
}

// writeWrapped writes parts with commas, and a new line before the one that
// would pass the width.
func writeWrapped(b *bufio.Writer, lead string, parts []string) {
	column := 30 // longer than any lead-in
	for i, part := range parts {
		if i > 0 {
			b.WriteString(",")
			lead = " "
		}
		if column+len(part)+2 > width {
			lead, column = "\n  ", 2
		}
		column += len(part) + 2
		b.WriteString(lead + part)
	}
	fmt.Fprintln(b)
}

// writeUnfinished lists instances without a result: reason, then what to do.
func writeUnfinished(b *bufio.Writer, records []results.Record, hints map[string]string) {
	var open []results.Record
	for _, r := range records {
		if !r.Outcome.Final() {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		return
	}
	fmt.Fprintln(b, "\nwithout a result:")
	for _, r := range open {
		fmt.Fprintf(b, "  %s  %s\n", oneLine(r.InstanceID, 60), oneLine(displayStatus(r), 30))
		if reason := reasonOf(r); reason != "" {
			writeParagraph(b, reason, 3)
		}
		if hint := hints[r.InstanceID]; hint != "" {
			writeParagraph(b, "-> "+hint, 3)
		}
	}
}

func reasonOf(r results.Record) string {
	return cmp.Or(r.Error, r.Blame)
}
