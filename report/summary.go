package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

const width = 100 // columns that no line but a hint's or an id's passes

// SummaryData is what a summary tells about.
type SummaryData struct {
	// Asked are the ids of the instances asked for. Nil means those in
	// Records. Records of other instances are left out of the table.
	Asked []string

	Records []results.Record  // any order, all attempts; an instance's last one counts
	Hints   map[string]string // by instance id: what a person can do; may be nil
	Spent   float64           // US dollars over all attempts ever, see results.Store.Spent
	Elapsed time.Duration     // of this run; 0 leaves it out
}

// Summary writes how a run ended: a table by exit status, coverage, cost, where
// the time went, and a line for each instance that has no result, with the
// reason and what to do. An instance asked for without a record is "not run".
func Summary(w io.Writer, d SummaryData) error {
	d.Records = sorted(d.Records) // sums of floats depend on their order
	last := results.Latest(d.Records)
	asked := askedFor(d.Asked, last)
	chosen := make([]results.Record, len(asked))
	for i, id := range asked {
		r, ok := last[id]
		if !ok {
			r = results.Record{InstanceID: id, Status: vocab.StatusNotRun, Outcome: vocab.OutcomePending}
		}
		chosen[i] = r
	}
	return buffered(w, func(b *bufio.Writer) {
		statusTable(chosen).write(b)
		fmt.Fprintln(b)
		writeCoverage(b, chosen)
		writeDiverged(b, d.Records)
		writeCost(b, d, chosen)
		writePhases(b, d, asked)
		writeUnfinished(b, chosen, d.Hints)
	})
}

func askedFor(asked []string, last map[string]results.Record) []string {
	if asked == nil {
		return slices.Sorted(maps.Keys(last))
	}
	return slices.Compact(slices.Sorted(slices.Values(asked)))
}

// group is the instances of one exit status.
type group struct {
	status                string
	count, steps, patches int
	cost                  float64
	final                 bool
}

func (g *group) add(r results.Record) {
	g.count++
	g.steps += r.Steps
	g.cost += r.Cost
	if r.PatchBytes > 0 && r.Outcome.Final() {
		g.patches++
	}
}

// statusTable lists results first, then what is left to do; the more frequent
// first.
func statusTable(records []results.Record) *table {
	groups := map[string]*group{}
	total := group{status: "total"}
	for _, r := range records {
		status := displayStatus(r)
		if groups[status] == nil {
			groups[status] = &group{status: status, final: r.Outcome.Final()}
		}
		groups[status].add(r)
		total.add(r)
	}
	order := slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		if a.final != b.final {
			if a.final {
				return -1
			}
			return 1
		}
		return cmp.Or(b.count-a.count, cmp.Compare(a.status, b.status))
	})
	t := &table{rule: len(order) + 1}
	t.add("exit status", "instances", "patches", "steps", "cost")
	for _, g := range append(order, &total) {
		t.add(oneLine(g.status, 40), fmt.Sprint(g.count), fmt.Sprint(g.patches), fmt.Sprint(g.steps), dollars(g.cost))
	}
	return t
}

// displayStatus tells an empty submission from one with a patch.
func displayStatus(r results.Record) string {
	if r.Outcome == vocab.OutcomeEmpty && r.Status == vocab.StatusSubmitted {
		return "Submitted (empty)"
	}
	return string(cmp.Or(r.Status, vocab.StatusUnknown))
}

// coverage counts instances by what is to be done about them.
type coverage struct{ asked, final, ours, pending int }

func cover(records []results.Record) coverage {
	c := coverage{asked: len(records)}
	for _, r := range records {
		switch {
		case r.Outcome.Final():
			c.final++
		case r.Outcome == vocab.OutcomePending:
			c.pending++
		default:
			c.ours++
		}
	}
	return c
}

// writeDiverged counts attempts that are no result although an agent may have ended
// them, so that what they cost has a reason.
func writeDiverged(b *bufio.Writer, all []results.Record) {
	n := 0
	for _, r := range all {
		if r.Outcome == vocab.OutcomeDiverged {
			n++
		}
	}
	if n > 0 {
		fmt.Fprintf(b, "attempts that diverged when they were replayed, and so are no result: %d\n", n)
	}
}

func writeCoverage(b *bufio.Writer, records []results.Record) {
	c := cover(records)
	fmt.Fprintf(b, "with a result %d/%d", c.final, c.asked)
	if c.ours > 0 {
		fmt.Fprintf(b, ", ours to retry %d", c.ours)
	}
	if c.pending > 0 {
		fmt.Fprintf(b, ", pending %d", c.pending)
	}
	fmt.Fprintln(b)
	resolved, graded := 0, 0
	for _, r := range records {
		if r.Resolved == nil || !r.Outcome.Final() {
			continue
		}
		graded++
		if *r.Resolved {
			resolved++
		}
	}
	if graded > 0 {
		fmt.Fprintf(b, "resolved %d/%d graded (%s), %d of %d have a verdict\n",
			resolved, graded, percent(float64(resolved), float64(graded)), graded, c.asked)
	}
}

func writeCost(b *bufio.Writer, d SummaryData, records []results.Record) {
	sum := 0.0
	for _, r := range records {
		sum += r.Cost
	}
	fmt.Fprintf(b, "cost %s", dollars(sum))
	if d.Spent > sum+0.00005 {
		fmt.Fprintf(b, ", %s with all attempts ever made in this directory", dollars(d.Spent))
	}
	if d.Elapsed > 0 {
		fmt.Fprintf(b, ", elapsed %s", seconds(d.Elapsed.Seconds()))
	}
	fmt.Fprintln(b)
}
