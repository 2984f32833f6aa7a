package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/results"
	"batch.example/batch/results/scores"
)

// coverage says which instances a rate covers, and why the others are left out.
func (s study) coverage() *section {
	unit := "Instances"
	if s.several() {
		unit = "Instances × attempts"
	}
	t := &table{Label: "Coverage", Class: "charts snug", Heads: []cell{{Text: "Run"}, number(unit), number("With a verdict"), {Class: "wide", Text: "Share with a verdict"}}}
	left := &table{Label: "Left out", Heads: []cell{{Text: "Instance"}, {Text: "Run"}, {Text: "Reason"}, {Text: "What happened"}}}
	doubtful := &table{Label: "Verdicts to look at", Heads: []cell{{Text: "Instance"}, {Text: "Run"}, {Text: "Verdict"}, {Text: "Why"}}}
	counts := make([]map[scores.Reason]int, len(s.entries))
	for i, e := range s.entries {
		counts[i] = map[scores.Reason]int{}
		for n := range e.Runs {
			for _, id := range s.ids {
				counts[i][e.cells[id].scores[n].Left]++
				s.note(left, doubtful, e, n, id)
			}
		}
	}
	var reasons []scores.Reason
	for _, reason := range scores.Reasons() {
		if slices.ContainsFunc(counts, func(c map[scores.Reason]int) bool { return c[reason] > 0 }) {
			reasons = append(reasons, reason)
			t.Heads = append(t.Heads, number(string(reason)))
		}
	}
	for i, e := range s.entries {
		t.add(e.covered(counts[i], reasons)...)
	}
	part := &section{ID: "coverage", Name: "Who is counted", Table: t, Notes: []string{"Rates are of those with a verdict. An infrastructure failure never counts as the model’s."}}
	if n := len(left.Rows); n > 0 {
		part.Folds = append(part.Folds, fold{Summary: cell{Text: fmt.Sprintf("%d left out, with the reason", n)}, Table: left})
	}
	if n := len(doubtful.Rows); n > 0 {
		part.Folds = append(part.Folds, fold{Summary: cell{Text: fmt.Sprintf("%d verdicts to look at: suspicious or unstable", n)}, Table: doubtful})
	}
	return part
}

func (e side) covered(counts map[scores.Reason]int, reasons []scores.Reason) []cell {
	asked, graded := 0, counts[""]
	for _, n := range counts {
		asked += n
	}
	d := newDrawing("row", 22, fmt.Sprintf("%d of %d have a verdict", graded, asked), "")
	d.bar("track", 0, 4, 1, 14)
	if asked > 0 {
		d.bar("full "+e.Class, 0, 4, float64(graded)/float64(asked), 14)
	}
	cells := append([]cell{e.cell()}, integers([]int{asked, graded})...)
	cells = append(cells, cell{Class: "wide", Mark: d.done()})
	for _, reason := range reasons {
		cells = append(cells, integers([]int{counts[reason]})...)
	}
	return cells
}

// note lists an attempt that is left out, or may have a wrong verdict.
func (s study) note(left, doubtful *table, e side, n int, id string) {
	score := e.cells[id].scores[n]
	r := results.LatestOf(e.last[n], id)
	add := func(to *table, what, why string) {
		to.add(append(s.attempt(e, n, id), cell{Text: what}, cell{Class: "why", Name: s.text(why, longText)})...)
	}
	switch {
	case score.Left == scores.Missing: // nothing went wrong, and there may be hundreds
	case score.Left != "":
		add(left, string(score.Left), why(r))
	case r.Grade != nil && (len(r.Grade.Suspicious) > 0 || r.Grade.Unstable || r.Grade.Doubt != ""):
		reasons := slices.Clone(r.Grade.Suspicious)
		if r.Grade.Doubt != "" {
			reasons = append(reasons, r.Grade.Doubt)
		}
		verdict := r.Grade.Verdict.String()
		if r.Grade.Unstable {
			verdict += ", unstable"
		}
		add(doubtful, verdict, strings.Join(reasons, "; "))
	}
}

// why returns what is known about the end of an attempt.
func why(r results.Record) string {
	text := r.Error
	if g := r.Grade; g != nil {
		text = cmp.Or(text, g.Error, g.Why)
	}
	status := r.Status.Label(r.Outcome)
	if text == "" {
		return status
	}
	return status + ": " + text
}

// sortedIDs returns the instances of an attempt in a fixed order for sums of floats.
func sortedIDs(a scores.Run) []string { return slices.Sorted(maps.Keys(a.Scores)) }
