package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"batch.example/batch/report/compare"
	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// compared compares each entry with all entries after it; it returns nil for a single entry.
func (s study) compared(entries []scores.Side) *compare.Comparison {
	if len(entries) < 2 {
		return nil
	}
	c := compare.New(entries, compare.Options{AllPairs: true, RatesOnly: len(entries) > 2})
	return &c
}

// named returns the entry with a name.
func (s study) named(name string) side {
	i := slices.IndexFunc(s.entries, func(e side) bool { return e.Name == name })
	return s.entries[max(0, i)]
}

func intervalOf(p compare.Pair) stats.Interval { return stats.Interval{Low: p.Low, High: p.High} }

// pairsView is the table of the pairs.
type pairsView struct {
	Axis     template.HTML
	Adjusted bool // there are several p values
	Several  bool // an entry has several attempts
	Rows     []pairRow
	Note     string
}

type pairRow struct {
	A, B                               side
	Both, OnlyA, OnlyB, Neither        string
	Discordant                         int
	Difference, Interval, P, Corrected string
	Chart, Shares                      template.HTML
	Lists                              []onlyList
}

// onlyList has the instances that one side of a pair resolved, or resolved more often.
type onlyList struct {
	Entry side
	IDs   []linkedID
}

// linkedID is an instance with links to the trajectories of both sides.
type linkedID struct {
	ID    string
	Links []linkedTo
}

type linkedTo struct{ Letter, Link string }

func (s study) pairsView(c *compare.Comparison) *pairsView {
	if c == nil {
		return nil
	}
	low, high := 0.0, 0.0
	for _, p := range c.Pairs {
		if i := intervalOf(p); i.Known() {
			low, high = min(low, i.Low), max(high, i.High)
		}
	}
	a := newAxis(low, high, 4)
	v := &pairsView{Axis: a.row(pointTick), Adjusted: len(c.Pairs) > 1, Several: s.several()}
	left := false
	for _, p := range c.Pairs {
		v.Rows = append(v.Rows, s.pairRow(p, a))
		left = left || p.LeftOut.Instances > 0
	}
	v.Note = "Instances with a verdict in both runs. A difference is second minus first, in percentage points; " + distinguished(c)
	for _, limit := range c.Limits() {
		v.Note += " " + strings.ToUpper(limit[:1]) + limit[1:] + "."
	}
	if v.Several {
		v.Note += " With several attempts, the counts are sums of fractions: what one attempt of each run would give on average."
	}
	if left {
		v.Note += " Instances without a verdict in one of the two are left out of both."
	}
	return v
}

// distinguished says when two entries cannot be distinguished.
func distinguished(c *compare.Comparison) string {
	if len(c.Pairs) == 1 {
		return "where its interval contains 0, the two cannot be distinguished at this number of instances."
	}
	return fmt.Sprintf("where p after %s correction is above 0.05, the two cannot be distinguished at this number of instances. Intervals are without the correction.",
		typographic(c.Correction()))
}

// typographic has the apostrophes of a page.
func typographic(text string) string { return strings.ReplaceAll(text, "'", "’") }

func (s study) pairRow(p compare.Pair, a axis) pairRow {
	row := pairRow{
		A: s.named(p.A), B: s.named(p.B), Both: count(p.Both), OnlyA: count(p.OnlyA), OnlyB: count(p.OnlyB), Neither: count(p.Neither),
		Discordant: p.HigherA + p.HigherB, Difference: "–", P: "–", Corrected: "–",
	}
	if p.N == 0 {
		return row
	}
	row.Difference, row.P, row.Corrected = points(p.Difference), pValue(p.P), pValue(p.Corrected())
	row.Shares = row.shares(p)
	if i := intervalOf(p); i.Known() {
		row.Interval = pointSpan(i)
	}
	row.Chart = row.chart(p, a)
	var onlyA, onlyB []string
	for _, d := range p.Discordant {
		if d.A > d.B {
			onlyA = append(onlyA, d.ID)
		} else {
			onlyB = append(onlyB, d.ID)
		}
	}
	if len(onlyA) > 0 {
		row.Lists = append(row.Lists, onlyList{row.A, s.linkedIDs(onlyA, row.A, row.B)})
	}
	if len(onlyB) > 0 {
		row.Lists = append(row.Lists, onlyList{row.B, s.linkedIDs(onlyB, row.A, row.B)})
	}
	return row
}

// count formats a number of instances, or of fractions of them.
func count(v float64) string { return number(math.Round(10*v) / 10) }

func (s study) linkedIDs(ids []string, entries ...side) []linkedID {
	var list []linkedID
	for _, id := range ids {
		l := linkedID{ID: plain(id)}
		for _, e := range entries {
			if link := s.firstLink(e, id); link != "" {
				l.Links = append(l.Links, linkedTo{e.Letter, link})
			}
		}
		list = append(list, l)
	}
	return list
}

// chart draws the difference and its interval.
func (row pairRow) chart(p compare.Pair, a axis) template.HTML {
	const height = 34
	d := newDrawing("row", height, fmt.Sprintf("%s minus %s: %s points, 95 %% interval %s", row.B.Letter, row.A.Letter, row.Difference, row.Interval), "")
	d.grid(a, height)
	if i := intervalOf(p); i.Known() {
		d.line("plain", a.at(i.Low), height/2, a.at(i.High), height/2)
	}
	d.dot(a.at(p.Difference), height/2)
	return d.done()
}

// shares draws the shares of instances that both, one or none resolved.
func (row pairRow) shares(p compare.Pair) template.HTML {
	const height, top, bar = 22, 4, 14
	d := newDrawing("row", height, fmt.Sprintf("both %s, only %s %s, only %s %s, neither %s", row.Both, row.A.Letter, row.OnlyA, row.B.Letter, row.OnlyB, row.Neither), "")
	x := 0.0
	for _, part := range []struct {
		class string
		count float64
	}{{"part both", p.Both}, {"part full " + row.A.Class, p.OnlyA}, {"part full " + row.B.Class, p.OnlyB}, {"neither", p.Neither}} {
		width := part.count / float64(p.N)
		d.bar(part.class, x, top, width, bar)
		x += width
	}
	return d.done()
}

const notGraded = "No prediction has a verdict: batch grade decides which of them resolve their instances."

// findings returns a sentence or two about the result of the comparison.
func (s study) findings(c *compare.Comparison) []string {
	switch {
	case len(s.entries) == 0:
		return nil
	case len(s.entries) == 1:
		r := s.rateOf(s.entries[0], s.ids)
		if r.instances == 0 {
			return []string{notGraded}
		}
		return []string{fmt.Sprintf("%s of %d instances resolved, 95 %% interval %s.", percent(r.value), r.instances, span(r.Interval))}
	case len(s.entries) == 2:
		return s.finding(c.Pairs[0])
	default:
		return s.ranking(c)
	}
}

func (s study) finding(p compare.Pair) []string {
	a, b := s.named(p.A).Label(), s.named(p.B).Label()
	i := intervalOf(p)
	switch {
	case p.N == 0:
		return []string{"The two runs have no instance with a verdict in both: nothing can be compared."}
	case !i.Known():
		return []string{fmt.Sprintf("The difference of %s and %s is %s points; its interval cannot be computed from %d instances.", a, b, points(p.Difference), p.N)}
	}
	var cost []string
	if m := p.Cost; m != nil && m.Interval != nil && m.Difference != 0 {
		cost = append(cost, fmt.Sprintf("Paired by instance, the mean cost differs by %s, 95 %% interval %s to %s.",
			signedDollars(m.Difference), signedDollars(m.Interval.Low), signedDollars(m.Interval.High)))
	}
	behind := fmt.Sprintf("%s points on the %d instances graded in both, 95 %% interval %s.", points(p.Difference), p.N, pointSpan(i))
	switch {
	case p.Tied:
		list := []string{fmt.Sprintf("%s and %s cannot be distinguished at this number of instances: the difference is %s", a, b, behind)}
		if least := p.Power.Smallest; least != nil {
			list = append(list, fmt.Sprintf("At this number of instances, a difference of at least %.1f points would be found in four of five such comparisons.", 100**least))
		}
		return append(list, cost...)
	case p.Difference > 0:
		return append([]string{fmt.Sprintf("%s resolves more than %s: %s", b, a, behind)}, cost...)
	default:
		return append([]string{fmt.Sprintf("%s resolves less than %s: %s", b, a, behind)}, cost...)
	}
}

// ranking names the entry with the highest rate and the entries that cannot be distinguished from
// it.
func (s study) ranking(c *compare.Comparison) []string {
	if c.Best == "" {
		return []string{"No instance has a verdict in all runs: see the pairs."}
	}
	var tied, less []string
	for _, e := range s.entries {
		switch name := e.Letter + " " + e.Label(); {
		case e.Name == c.Best:
		case slices.Contains(c.TiedSet, e.Name):
			tied = append(tied, name)
		default:
			less = append(less, name)
		}
	}
	best := s.named(c.Best)
	list := []string{fmt.Sprintf("%s %s has the highest rate on the %d instances with a verdict in all runs.", best.Letter, best.Label(), c.Common)}
	if len(tied) > 0 {
		list = append(list, "Not distinguished from it at this number of instances: "+strings.Join(tied, ", ")+".")
	}
	if len(less) > 0 {
		list = append(list, "Resolve less: "+strings.Join(less, ", ")+".")
	}
	return list
}
