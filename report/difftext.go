package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/results"
)

// Write writes the differences as text: settings, outcomes, instances, totals.
func (d Diff) Write(w io.Writer) error {
	return buffered(w, func(b *bufio.Writer) {
		writeSide(b, "A", d.A)
		writeSide(b, "B", d.B)
		d.writeSettings(b)
		d.writeChanges(b)
		if len(d.Instances) > 0 {
			fmt.Fprintln(b)
			d.instanceTable().Write(b)
		}
		if d.TotalA.Instances+d.TotalB.Instances > 0 {
			fmt.Fprintln(b)
			d.totalTable().Write(b)
		}
		fmt.Fprintln(b)
		d.writeCounts(b)
	})
}

func writeSide(b *bufio.Writer, name string, s Status) {
	fmt.Fprintf(b, "%s  %s\n", name, s.title())
	fmt.Fprint(b, "   ")
	writeWords(b, fmt.Sprintf("%s; cost %s", s.cover, UpTo(s.Cost, results.UnansweredOf(s.records()))), "   ")
	if g := s.Grading; g != nil {
		text := g.Rate()
		if len(g.Quarantined) > 0 {
			text += "; " + g.quarantine()
		}
		fmt.Fprint(b, "   ")
		writeWords(b, text, "   ")
	}
}

func (d Diff) writeSettings(b *bufio.Writer) {
	fmt.Fprintln(b)
	if d.Unsettled != nil {
		fmt.Fprintf(b, "settings are not compared: no manifest.json in %s\n", OneLine(strings.Join(d.Unsettled, " and "), 0))
		return
	}
	what := "settings that affect results"
	if d.OnlyGraded != "" {
		fmt.Fprintf(b, "settings are not compared: batch grade made %s out of predictions\n", OneLine(d.OnlyGraded, 0))
		what = "datasets"
	}
	affecting, other := []string{}, []string{}
	images := map[string]bool{} // instances
	for _, one := range d.Manifest {
		switch {
		case one.Matters:
			affecting = append(affecting, settingLines(one)...)
		case strings.HasPrefix(one.Name, "images."):
			images[imageOf(one)] = true
		default:
			other = append(other, settingLines(one)...)
		}
	}
	if n := len(images); n > 0 {
		other = append(other, "images: "+printable.Count(n, "instance differs", "instances differ")+" (see --json)")
	}
	if len(affecting) == 0 {
		fmt.Fprintln(b, what+": no difference")
	} else {
		writeLines(b, what+" (A -> B):", affecting)
	}
	if len(other) > 0 {
		writeLines(b, "\nother differences (A -> B):", other)
	}
}

func writeLines(b *bufio.Writer, head string, lines []string) {
	fmt.Fprintln(b, head)
	for _, line := range lines {
		fmt.Fprintln(b, "  "+line)
	}
}

// writeChanges counts the instances by their change of outcome, the most frequent change first.
func (d Diff) writeChanges(b *bufio.Writer) {
	if len(d.changes) == 0 {
		return
	}
	order := slices.SortedFunc(maps.Keys(d.changes), func(x, y [2]string) int {
		return cmp.Or(d.changes[y]-d.changes[x], cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	})
	t := printable.Numbers(1)
	t.Add("outcome in A", "outcome in B", "instances")
	for _, c := range order {
		t.Add(OneLine(c[0], 40), OneLine(c[1], 40), fmt.Sprint(d.changes[c]))
	}
	fmt.Fprintln(b)
	t.Write(b)
}

// instanceTable has a row for A and one for B, so that numbers are aligned.
func (d Diff) instanceTable() *printable.Table {
	t := printable.Numbers(1, 2, 6)
	t.Add("instance", "run", "outcome", "steps", "cost", "time", "patch")
	for _, in := range d.Instances {
		compared := ""
		if in.Patch == "equal" || in.Patch == "different" {
			compared = ", " + in.Patch
		}
		t.Add(append([]string{OneLine(in.ID, 60), "A", OneLine(in.A, 45)}, recordCells(in.RecordA, "")...)...)
		t.Add(append([]string{"", "B", OneLine(in.B, 45)}, recordCells(in.RecordB, compared)...)...)
	}
	return t
}

// recordCells returns steps, cost, time and patch; "-" if unknown.
func recordCells(r results.Record, compared string) []string {
	cells := []string{"-", "-", "-", "-"}
	if r.Measured() {
		cells[0], cells[1] = fmt.Sprint(r.Steps), Dollars(r.Cost)
	}
	if r.Time.Total > 0 {
		cells[2] = Seconds(r.Time.Total)
	}
	if r.Outcome.Final() {
		cells[3] = fmt.Sprintf("%d B%s", r.PatchBytes, compared)
	}
	return cells
}

func (d Diff) totalTable() *printable.Table {
	t := printable.Numbers()
	t.Add("of instances with a result", "A", "B", "B - A")
	a, b := d.TotalA, d.TotalB
	number := func(name string, a, b int) {
		t.Add(name, fmt.Sprint(a), fmt.Sprint(b), signed(float64(b-a), func(v float64) string { return fmt.Sprint(int(v)) }))
	}
	value := func(name string, a, b *float64, show func(float64) string) {
		if a == nil && b == nil {
			return
		}
		cells := []string{name, "-", "-", "-"}
		if a != nil {
			cells[1] = show(*a)
		}
		if b != nil {
			cells[2] = show(*b)
		}
		if a != nil && b != nil {
			cells[3] = signed(*b-*a, show)
		}
		t.Add(cells...)
	}
	number("instances", a.Instances, b.Instances)
	if a.Graded+b.Graded > 0 {
		number("graded", a.Graded, b.Graded)
		number("resolved", a.Resolved, b.Resolved)
	}
	if a.Quarantined+b.Quarantined > 0 {
		number("quarantined", a.Quarantined, b.Quarantined)
	}
	number("patches", a.Patches, b.Patches)
	partly := func(name string, known, other int) {
		if known < a.Instances || other < b.Instances {
			number(name, known, other)
		}
	}
	partly("with known steps and cost", a.Measured, b.Measured)
	number("steps, total", a.Steps, b.Steps)
	value("steps, median", a.StepsMedian, b.StepsMedian, func(v float64) string { return fmt.Sprintf("%g", v) })
	value("cost, total", &a.Cost, &b.Cost, Dollars)
	value("cost, median", a.CostMedian, b.CostMedian, Dollars)
	partly("with a known time", a.Timed, b.Timed)
	value("time, total", known(a.Seconds), known(b.Seconds), Seconds)
	value("time, median", a.SecondsMedian, b.SecondsMedian, Seconds)
	return t
}

// known returns nil for a time that was not measured.
func known(v float64) *float64 {
	if v <= 0 {
		return nil
	}
	return &v
}

// signed formats a change with its sign.
func signed(v float64, show func(float64) string) string {
	switch {
	case v > 0:
		return "+" + show(v)
	case v < 0:
		return "-" + show(-v)
	default:
		return show(0)
	}
}

func (d Diff) writeCounts(b *bufio.Writer) {
	if p := d.Patches; p.Equal+p.Different+p.None > 0 {
		fmt.Fprintf(b, "patches: equal %d, different %d", p.Equal, p.Different)
		if p.None > 0 {
			fmt.Fprintf(b, ", empty in both %d", p.None)
		}
		fmt.Fprintln(b)
	}
	if r := d.Resolved; r != (VerdictCount{}) {
		fmt.Fprintf(b, "resolved: in both %d, only in A %d, only in B %d, in neither %d\n", r.Both, r.OnlyA, r.OnlyB, r.Neither)
	}
	if l := d.LeftOut; l != (LeftOut{}) {
		fmt.Fprintf(b, "left out: %s with a result only in A, %d only in B, %d without a result\n", printable.Count(l.B, "instance", "instances"), l.A, l.Neither)
	} else if d.OnlyA+d.OnlyB > 0 {
		fmt.Fprintf(b, "not compared: %s only in A, %d only in B\n", printable.Count(d.OnlyA, "instance", "instances"), d.OnlyB)
	}
	n := d.SameOutcome + d.Different
	if n == 0 && d.OnlyA+d.OnlyB > 0 && d.LeftOut == (LeftOut{}) {
		fmt.Fprintln(b, "no instance is in both")
		return
	}
	fmt.Fprintf(b, "same outcome %d, different %d\n", d.SameOutcome, d.Different)
	if n > len(d.Instances) && d.Patches.Different > d.Different {
		fmt.Fprintln(b, "--all lists the instances with the same outcome too")
	}
}
