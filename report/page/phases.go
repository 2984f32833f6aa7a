package page

import (
	"fmt"
	"html/template"
	"strings"

	"batch.example/batch/report"
	"batch.example/batch/results"
)

// phasesView is the chart of where the time went.
type phasesView struct {
	Rows  []phasesRow
	Parts []phasePart
}

type phasesRow struct {
	Entry side
	Total string
	Chart template.HTML
}

type phasePart struct {
	Name   string
	Swatch template.HTML
	Values []string // by row
}

// phaseGroups combines the phases of a run into as many groups as a chart can show. Other phases
// are "other".
// "other".
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

// phases returns nil if no times are known.
func (s study) phases() *phasesView {
	var v phasesView
	var all [][]float64
	most := 0.0
	for _, e := range s.entries {
		sums, total, of := e.phases()
		if total <= 0 {
			continue
		}
		v.Rows = append(v.Rows, phasesRow{Entry: e, Total: duration(total) + " per attempt" + of})
		all = append(all, sums)
		most = max(most, total)
	}
	if len(all) == 0 {
		return nil
	}
	for i := range v.Rows {
		v.Rows[i].Chart = drawPhases(v.Rows[i], all[i], most)
	}
	for n, g := range phaseGroups {
		part := phasePart{Name: g.name, Swatch: phaseSwatch(n)}
		for _, sums := range all {
			part.Values = append(part.Values, duration(sums[n]))
		}
		v.Parts = append(v.Parts, part)
	}
	return &v
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
		for _, name := range g.parts {
			if name == part {
				return i
			}
		}
	}
	return len(phaseGroups) - 1
}

func drawPhases(row phasesRow, sums []float64, most float64) template.HTML {
	const height, bar = 20, 18
	var words []string
	for n, v := range sums {
		words = append(words, phaseGroups[n].name+" "+duration(v))
	}
	d := newDrawing("row", height, row.Entry.Letter+": "+row.Total, strings.Join(words, ", "))
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
