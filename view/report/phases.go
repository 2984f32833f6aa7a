package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"batch.example/batch/report"
	"batch.example/batch/results"
)

// phaseGroups combines the phases of a run into as many groups as a chart can show. Other phases
// are "other".
var phaseGroups = []struct {
	name  string
	parts []string
}{
	{"pull of the image", []string{"pull"}},
	{"container and setup", []string{"start", "prepare", "replay"}},
	{"model", []string{"model"}},
	{"rate limits and retries", []string{"rate limit", "back-off"}},
	{"commands", []string{"commands"}},
	{"saving and finishing", []string{"save", "finish"}},
	{"agent and other", []string{"agent", "other"}},
}

// phases returns where the time went, or nil if no times are known.
func (s study) phases() *section {
	t := &table{Label: "Time by phase", Heads: []cell{{Text: "Phase"}}}
	f := figure{Caption: "Mean time of an attempt, one scale for all runs. Waiting for a worker comes before and is not in it."}
	var all [][]float64
	most := 0.0
	for _, e := range s.entries {
		sums, total, of := e.phases()
		if total <= 0 {
			continue
		}
		name := e.cell()
		name.Small = report.Seconds(total) + " per attempt" + of
		f.Rows, t.Heads = append(f.Rows, chart{Of: name}), append(t.Heads, e.head())
		all = append(all, sums)
		most = max(most, total)
	}
	if len(all) == 0 {
		return nil
	}
	for i, sums := range all {
		f.Rows[i].Drawing = drawPhases(f.Rows[i].Of, sums, most)
	}
	for n, g := range phaseGroups {
		cells := []cell{{Mark: phaseSwatch(n), Text: g.name}}
		for _, sums := range all {
			cells = append(cells, number(report.Seconds(sums[n])))
		}
		t.add(cells...)
	}
	return &section{ID: "phases", Name: "Where the time went", Class: "half", Figures: []figure{f}, Table: t}
}

// phases returns the mean seconds of an attempt by group, and in total, over the attempts that
// ended with a result. of says how many of them have times, if not all.
func (e side) phases() (sums []float64, total float64, of string) {
	sums = make([]float64, len(phaseGroups))
	n, ended := 0.0, 0
	for i, a := range e.Runs {
		for _, id := range sortedIDs(a) {
			r := results.LatestOf(e.last[i], id)
			if !r.Outcome.Final() {
				continue
			}
			if ended++; r.Time.Total <= 0 {
				continue
			}
			n++
			for _, part := range report.Parts(r.Time) {
				sums[groupOf(part.Name)] += part.Seconds
			}
		}
	}
	for i := range sums {
		if n > 0 {
			sums[i] /= n
		}
		total += sums[i]
	}
	if int(n) < ended {
		of = fmt.Sprintf(" (of %.0f)", n)
	}
	return sums, total, of
}

func groupOf(part string) int {
	for i, g := range phaseGroups {
		if slices.Contains(g.parts, part) {
			return i
		}
	}
	return len(phaseGroups) - 1
}

func drawPhases(of cell, sums []float64, most float64) template.HTML {
	const height, bar = 20, 18
	var words []string
	for n, v := range sums {
		words = append(words, phaseGroups[n].name+" "+report.Seconds(v))
	}
	d := newDrawing("row", height, of.Name+": "+of.Small, strings.Join(words, ", "))
	x := 0.0
	for n, v := range sums {
		d.bar(fmt.Sprintf("part p%d", n), x, 1, v/most, bar)
		x += v / most
	}
	return d.done()
}

func phaseSwatch(n int) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="swatch" width="12" height="12" aria-hidden="true"><rect class="p%d" width="12" height="12"/></svg>`, n)) //nolint:gosec // all of it is from this file
}
