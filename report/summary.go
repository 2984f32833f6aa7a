package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

const width = 80 // columns of a line of text; tables, ids and single long words may pass it

// SummaryData is the input of a summary.
type SummaryData struct {
	// Asked has the ids of the requested instances. Nil means the instances in Records. Records of
	// other instances are not in the table.
	Asked []string

	Records []results.Record  // all attempts in any order; an instance's last one counts
	Hints   map[string]string // advice for a person by instance id; may be nil
	Spent   float64           // US dollars of all attempts ever made, see results.Reader.Spent
	Elapsed time.Duration     // of this run; 0: not shown
}

// Summary writes the end of a run: a table by exit status, the number of instances with a result,
// the cost, the time by phase, the verdicts, and each instance that began and has no result, with
// the reason and what to do. An instance without a record is "not run".
func Summary(w io.Writer, d SummaryData) error {
	d.Records = sorted(d.Records) // sums of floats depend on their order
	last := results.Latest(d.Records)
	asked := askedFor(d.Asked, last)
	chosen := make([]results.Record, len(asked))
	for i, id := range asked {
		chosen[i] = results.LatestOf(last, id)
	}
	return buffered(w, func(b *bufio.Writer) {
		statusTable(chosen).Write(b)
		fmt.Fprintln(b)
		cover(chosen, nil).write(b)
		writeDiverged(b, d.Records)
		writeCost(b, newBill(d.Records, chosen, d.Spent), d.Elapsed)
		writePhases(b, d, asked)
		newGrading(chosen).write(b)
		writeUnfinished(b, chosen, d.Hints)
	})
}

func askedFor(asked []string, last map[string]results.Record) []string {
	if asked == nil {
		return slices.Sorted(maps.Keys(last))
	}
	return slices.Compact(slices.Sorted(slices.Values(asked)))
}

// statusTable lists results first, then unfinished instances; in both, the most frequent exit
// status comes first.
func statusTable(records []results.Record) *printable.Table {
	groups := map[string]*OutcomeStatus{}
	total := &OutcomeStatus{Status: "total"}
	for _, r := range records {
		status := displayStatus(r)
		if groups[status] == nil {
			groups[status] = &OutcomeStatus{Status: status, Outcome: r.Outcome}
		}
		groups[status].add(r)
		total.add(r)
	}
	order := slices.SortedFunc(maps.Values(groups), func(a, b *OutcomeStatus) int {
		return cmp.Or(finalFirst(a.Outcome, b.Outcome), b.Instances-a.Instances, cmp.Compare(a.Status, b.Status))
	})
	t := printable.Numbers()
	t.Add("exit status", "instances", "patches", "steps", "cost")
	row := func(o *OutcomeStatus) { t.Row(OneLine(o.Status, 40), o.Instances, o.Patches, o.Steps, Dollars(o.Cost)) }
	for _, o := range order {
		row(o)
	}
	t.Rule()
	row(total)
	return t
}

// displayStatus is the exit status as all screens show it.
func displayStatus(r results.Record) string { return r.Status.Label(r.Outcome) }

// coverage counts instances by what remains to be done.
type coverage struct{ asked, final, failed, wrong, diverged, running, canceled, unfinished int }

// cover counts the instances of records, which has one for each; canceled are ids.
func cover(records []results.Record, canceled []string) coverage {
	c := coverage{asked: len(records)}
	for _, r := range records {
		switch {
		case r.Outcome.Final():
			c.final++
		case r.Status == vocab.StatusRunning:
			c.running++
		case slices.Contains(canceled, r.InstanceID):
			c.canceled++
		case r.Outcome == vocab.OutcomePending:
			c.unfinished++
		case r.Outcome == vocab.OutcomeDiverged:
			c.diverged++
		case r.Status.NeedsCorrection():
			c.wrong++
		default:
			c.failed++
		}
	}
	return c
}

// String returns "1 of 4 instances has a result; 2 failed for infrastructure reasons and will be
// retried; 1 is unfinished".
func (c coverage) String() string {
	text := fmt.Sprintf("%d of %s ", c.final, printable.Count(c.asked, "instance", "instances"))
	if c.final == 1 || c.asked == 1 {
		text += "has a result"
	} else {
		text += "have a result"
	}
	if c.failed > 0 {
		text += fmt.Sprintf("; %d failed for infrastructure reasons and will be retried", c.failed)
	}
	if c.wrong > 0 {
		text += "; " + printable.Count(c.wrong, "needs a correction of its", "need a correction of their") + " configuration, script, row or image"
	}
	if c.diverged > 0 {
		text += fmt.Sprintf("; %d diverged on replay and will start again", c.diverged)
	}
	if c.running > 0 {
		text += "; " + printable.Count(c.running, "is running", "are running")
	}
	if c.canceled > 0 {
		text += "; " + printable.Count(c.canceled, "was canceled", "were canceled")
	}
	if c.unfinished > 0 {
		text += "; " + printable.Count(c.unfinished, "is unfinished", "are unfinished")
	}
	return text
}

// writeDiverged counts the attempts that cost money but are not results, because they diverged on
// replay.
func writeDiverged(b *bufio.Writer, all []results.Record) {
	n := 0
	for _, r := range all {
		if r.Outcome == vocab.OutcomeDiverged {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(b, "diverged on replay and not counted as a result: %s\n", printable.Count(n, "attempt", "attempts"))
	}
}

func (c coverage) write(b *bufio.Writer) { writeWords(b, c.String(), "  ") }

func writeCost(b *bufio.Writer, bill Bill, elapsed time.Duration) {
	text := "cost " + bill.String()
	if elapsed > 0 {
		text += ", elapsed " + Seconds(elapsed.Seconds())
	}
	writeWords(b, text, "  ")
}
