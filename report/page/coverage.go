package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"batch.example/batch/results"
	"batch.example/batch/results/scores"
)

// coverageView says which instances a rate covers, and why the others are left out.
type coverageView struct {
	Unit     string // what is counted
	Reasons  []scores.Reason
	Rows     []coverageRow
	Left     []notedRow
	Doubtful []notedRow
}

type coverageRow struct {
	Entry         side
	Asked, Graded int
	Chart         template.HTML
	Counts        []int // by reason
}

// notedRow is one attempt at an instance with a remark for the reader.
type notedRow struct {
	key
	ID, Link string
	Attempt  int // 0: it is the only one
	Reason   string
	Why      string
}

func (s study) coverage() coverageView {
	v := coverageView{Unit: "Instances"}
	if s.several() {
		v.Unit = "Instances × attempts"
	}
	counts := make([]map[scores.Reason]int, len(s.entries))
	for i, e := range s.entries {
		counts[i] = map[scores.Reason]int{}
		for n := range e.Runs {
			for _, id := range s.ids {
				left := e.cells[id].scores[n].Left
				counts[i][left]++
				s.note(&v, e, n, id)
			}
		}
	}
	for _, reason := range scores.Reasons() {
		if slices.ContainsFunc(counts, func(c map[scores.Reason]int) bool { return c[reason] > 0 }) {
			v.Reasons = append(v.Reasons, reason)
		}
	}
	for i, e := range s.entries {
		v.Rows = append(v.Rows, e.coverageRow(counts[i], v.Reasons))
	}
	return v
}

func (e side) coverageRow(counts map[scores.Reason]int, reasons []scores.Reason) coverageRow {
	row := coverageRow{Entry: e, Graded: counts[""]}
	for _, n := range counts {
		row.Asked += n
	}
	for _, reason := range reasons {
		row.Counts = append(row.Counts, counts[reason])
	}
	d := newDrawing("row", 22, fmt.Sprintf("%d of %d have a verdict", row.Graded, row.Asked), "")
	d.bar("track", 0, 4, 1, 14)
	if row.Asked > 0 {
		d.bar("full "+e.Class, 0, 4, float64(row.Graded)/float64(row.Asked), 14)
	}
	row.Chart = d.done()
	return row
}

// note lists an attempt that is left out, or may have a wrong verdict.
func (s study) note(v *coverageView, e side, n int, id string) {
	score := e.cells[id].scores[n]
	r := results.LatestOf(e.last[n], id)
	row := notedRow{key: e.key, ID: plain(id), Link: s.link(e, n, id), Attempt: e.number(n)}
	switch {
	case score.Left == scores.Missing:
		return // nothing went wrong, and there may be hundreds
	case score.Left != "":
		row.Reason, row.Why = string(score.Left), cut(s.hide(why(r)), 300)
		v.Left = append(v.Left, row)
	case r.Grade != nil && (len(r.Grade.Suspicious) > 0 || r.Grade.Unstable || r.Grade.Doubt != ""):
		reasons := slices.Clone(r.Grade.Suspicious)
		if r.Grade.Doubt != "" {
			reasons = append(reasons, r.Grade.Doubt)
		}
		row.Reason, row.Why = r.Grade.Verdict.String(), cut(s.hide(strings.Join(reasons, "; ")), 300)
		if r.Grade.Unstable {
			row.Reason += ", unstable"
		}
		v.Doubtful = append(v.Doubtful, row)
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
