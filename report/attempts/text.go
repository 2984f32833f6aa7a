package attempts

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/results/scores"
)

const width = 80 // columns of a line of text; tables and ids may pass it

// mostFlaky is the number of flaky instances that the text names.
const mostFlaky = 20

// Write writes the table for a person.
func (t Table) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s: %s at %s\n", report.OneLine(t.Entry, 60), printable.Count(t.Attempts, "attempt", "attempts"), printable.Count(t.Instances, "instance", "instances"))
	t.writeRows(&b)
	t.writeMean(&b)
	t.writeLeftOut(&b)
	t.writeFlaky(&b)
	for _, note := range t.Notes {
		fmt.Fprintln(&b, printable.Words("note: "+printable.Line(note), "  ", width))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (t Table) writeRows(b *bytes.Buffer) {
	if t.Counted == 0 {
		fmt.Fprintln(b, "\nno attempt has a verdict: `batch grade DIR` grades one")
		return
	}
	table := printable.Numbers()
	table.Add("k", "instances", "pass@k", "95% interval", "SE", "pass^k", "95% interval", "SE", "cost of k")
	for _, r := range t.Rows {
		cost := "-"
		if r.Cost != nil {
			cost = report.Dollars(*r.Cost)
			if r.CostKnown < r.Instances {
				cost += fmt.Sprintf(" (of %d)", r.CostKnown)
			}
		}
		table.Add(fmt.Sprint(r.K), fmt.Sprint(r.Instances), r.PassAtK.rate(), r.PassAtK.interval(), r.PassAtK.error(),
			r.PassHatK.rate(), r.PassHatK.interval(), r.PassHatK.error(), cost)
	}
	fmt.Fprintln(b)
	table.Write(b)
	fmt.Fprintln(b, "\npass@k: one of k attempts resolves the instance; pass^k: all of k do. SE, the\nstandard error in points, and intervals are clustered by repository. The cost is\nof k attempts at one instance, on average.")
	t.Mean.writeScope(b)
}

func (t Table) writeMean(b *bytes.Buffer) {
	if t.Mean.Value == nil {
		return
	}
	fmt.Fprintf(b, "\nmean resolved rate of one attempt: %s", t.Mean.rate())
	if t.Mean.Interval != nil {
		fmt.Fprintf(b, " (95%% interval %s)", t.Mean.interval())
	}
	if t.Mean.SE != nil {
		fmt.Fprintf(b, ", clustered SE %s points", t.Mean.error())
	}
	fmt.Fprintln(b)
}

func (t Table) writeLeftOut(b *bytes.Buffer) {
	if t.Counted < t.Instances {
		fmt.Fprintf(b, "%s no verdict of any attempt, and %s in no rate\n",
			printable.Count(t.Instances-t.Counted, "instance has", "instances have"), map[bool]string{true: "is", false: "are"}[t.Instances-t.Counted == 1])
	}
	var parts []string
	sum := 0
	for _, reason := range scores.Reasons() {
		if n := t.LeftOut[reason]; n > 0 {
			sum += n
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	if sum > 0 {
		fmt.Fprintf(b, "%s left out: %s\n", printable.Count(sum, "attempt at an instance is", "attempts at an instance are"), strings.Join(parts, ", "))
	}
	if last := len(t.Rows) - 1; last >= 0 && t.Rows[last].TooFew > 0 {
		fmt.Fprintf(b, "%s fewer than %d attempts that count: left out where k is larger\n",
			printable.Count(t.Rows[last].TooFew, "instance has", "instances have"), t.Attempts)
	}
}

func (t Table) writeFlaky(b *bytes.Buffer) {
	if len(t.Flaky) == 0 {
		return
	}
	var names []string
	for _, f := range t.Flaky[:min(mostFlaky, len(t.Flaky))] {
		names = append(names, fmt.Sprintf("%s (%d of %d)", printable.Line(f.ID), f.Resolved, f.Attempts))
	}
	if more := len(t.Flaky) - mostFlaky; more > 0 {
		names = append(names, fmt.Sprintf("and %d more (see --json)", more))
	}
	fmt.Fprintln(b)
	fmt.Fprintln(b, printable.Wrapped(printable.Count(len(t.Flaky), "flaky instance: ", "flaky instances: "), "  ", names, width))
}
