package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
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

func (s study) pairs(c *compare.Comparison) *section {
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
	t := &table{Label: "Pairs", Class: "charts pairs", Heads: []cell{
		{Text: "Pair"},
		number("Both"), number("Only first"), number("Only second"), number("Neither"),
		{Class: "wide", Text: "Share of instances"},
		number("Difference, points"), number("95 % interval"), a.head("Chart of the interval", pointTick), number("p"),
	}}
	if len(c.Pairs) > 1 {
		t.Heads = append(t.Heads, number("p, corrected"))
	}
	part := &section{ID: "pairs", Name: "Where they differ", Table: t}
	left := false
	for _, p := range c.Pairs {
		t.add(s.pairRow(p, a)[:len(t.Heads)]...)
		left = left || p.LeftOut.Instances > 0
		if f := s.discordant(p); f.Lists != nil {
			part.Folds = append(part.Folds, f)
		}
	}
	note := "Instances with a verdict in both runs. A difference is second minus first, in percentage points; " + distinguished(c)
	for _, limit := range c.Limits() {
		note += " " + strings.ToUpper(limit[:1]) + limit[1:] + "."
	}
	if s.several() {
		note += " With several attempts, the counts are sums of fractions: what one attempt of each run would give on average."
	}
	if left {
		note += " Instances without a verdict in one of the two are left out of both."
	}
	part.Notes = []string{note}
	return part
}

// distinguished says when two entries cannot be distinguished.
func distinguished(c *compare.Comparison) string {
	if len(c.Pairs) == 1 {
		return "where its interval contains 0, the two cannot be distinguished at this number of instances."
	}
	return fmt.Sprintf("where p after %s correction is above 0.05, the two cannot be distinguished at this number of instances. Intervals are without the correction.",
		strings.ReplaceAll(c.Correction(), "'", "’"))
}

func (s study) pairRow(p compare.Pair, a axis) []cell {
	first, second := s.named(p.A), s.named(p.B)
	difference, interval, pText, corrected := "–", "", "–", "–"
	wide, drawn := cell{Class: "wide"}, cell{Class: "chart"}
	if p.N > 0 {
		difference, pText, corrected = points(p.Difference), pValue(p.P), pValue(p.Corrected())
		if i := intervalOf(p); i.Known() {
			interval = pointSpan(i)
		}
		wide.Mark = shares(p, first, second)
		drawn.Mark = drawPair(p, a, fmt.Sprintf("%s minus %s: %s points, 95 %% interval %s", second.Letter, first.Letter, difference, interval))
	}
	return []cell{
		{Mark: first.against(second.key)},
		number(count(p.Both)), number(count(p.OnlyA)), number(count(p.OnlyB)), number(count(p.Neither)), wide,
		{Class: "n strong", Text: difference},
		number(interval), drawn, number(pText), number(corrected),
	}
}

// discordant lists the instances that one side of a pair resolved, or resolved more often.
func (s study) discordant(p compare.Pair) fold {
	first, second := s.named(p.A), s.named(p.B)
	words, head := "that only one of them resolved", "only"
	if s.several() {
		words, head = "that one of them resolved more often", "more often"
	}
	f := fold{Summary: cell{Mark: first.against(second.key), Text: fmt.Sprintf("%d %s", p.HigherA+p.HigherB, words)}}
	for _, e := range []side{first, second} {
		var rows []cell
		for _, d := range p.Discordant {
			if (d.A > d.B) == (e.Name == p.A) {
				rows = append(rows, s.linked(d.ID, first, second))
			}
		}
		if rows != nil {
			f.Lists = append(f.Lists, list{cell{Mark: e.sign(), Text: fmt.Sprintf("%s (%d)", head, len(rows))}, rows})
		}
	}
	return f
}

// count formats a number of instances, or of fractions of them.
func count(v float64) string { return mean(math.Round(10*v) / 10) }

// linked is an instance with links to the first trajectories of some entries.
func (s study) linked(id string, entries ...side) cell {
	c := cell{Name: s.text(id, 0)}
	for _, e := range entries {
		for i := range e.Runs {
			if to := s.link(e, i, id); to != "" {
				c.Links = append(c.Links, link{e.Letter, "trajectory of " + e.Letter + ", " + c.Name, to})
				break
			}
		}
	}
	return c
}

// drawPair draws the difference and its interval.
func drawPair(p compare.Pair, a axis, title string) template.HTML {
	const height = 34
	d := newDrawing("row", height, title, "")
	d.grid(a, height)
	if i := intervalOf(p); i.Known() {
		d.line("plain", a.at(i.Low), height/2, a.at(i.High), height/2)
	}
	d.dot(a.at(p.Difference), height/2)
	return d.done()
}

// shares draws the shares of instances that both, one or none resolved.
func shares(p compare.Pair, first, second side) template.HTML {
	const height, top, bar = 22, 4, 14
	title := fmt.Sprintf("both %s, only %s %s, only %s %s, neither %s", count(p.Both), first.Letter, count(p.OnlyA), second.Letter, count(p.OnlyB), count(p.Neither))
	d := newDrawing("row", height, title, "")
	x := 0.0
	for _, part := range []struct {
		class string
		count float64
	}{{"part both", p.Both}, {"part full " + first.Class, p.OnlyA}, {"part full " + second.Class, p.OnlyB}, {"neither", p.Neither}} {
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
		return []string{fmt.Sprintf("%s of %d instances resolved, 95 %% interval %s.", printable.Percent(r.value), r.instances, span(r.Interval))}
	case len(s.entries) == 2:
		return s.difference(c.Pairs[0])
	default:
		return s.ranking(c)
	}
}

func (s study) difference(p compare.Pair) []string {
	a, b := s.named(p.A).label, s.named(p.B).label
	i := intervalOf(p)
	switch {
	case p.N == 0:
		return []string{"The two runs have no instance with a verdict in both: nothing can be compared."}
	case !i.Known():
		return []string{fmt.Sprintf("The difference of %s and %s is %s points; its interval cannot be computed from %d instances.", a, b, points(p.Difference), p.N)}
	}
	var list []string
	behind := fmt.Sprintf("%s points on the %d instances graded in both, 95 %% interval %s.", points(p.Difference), p.N, pointSpan(i))
	switch {
	case p.Tied:
		list = []string{fmt.Sprintf("%s and %s cannot be distinguished at this number of instances: the difference is %s", a, b, behind)}
		if least := p.Power.Smallest; least != nil {
			list = append(list, fmt.Sprintf("At this number of instances, a difference of at least %.1f points would be found in four of five such comparisons.", 100**least))
		}
	case p.Difference > 0:
		list = []string{fmt.Sprintf("%s resolves more than %s: %s", b, a, behind)}
	default:
		list = []string{fmt.Sprintf("%s resolves less than %s: %s", b, a, behind)}
	}
	if m := p.Cost; m != nil && m.Interval != nil && m.Difference != 0 {
		list = append(list, fmt.Sprintf("Paired by instance, the mean cost differs by %s, 95 %% interval %s to %s.",
			signedDollars(m.Difference), signedDollars(m.Interval.Low), signedDollars(m.Interval.High)))
	}
	return list
}

// ranking names the entry with the highest rate and the entries that cannot be distinguished from
// it.
func (s study) ranking(c *compare.Comparison) []string {
	if c.Best == "" {
		return []string{"No instance has a verdict in all runs: see the pairs."}
	}
	var tied, less []string
	for _, e := range s.entries {
		switch name := e.Letter + " " + e.label; {
		case e.Name == c.Best:
		case slices.Contains(c.TiedSet, e.Name):
			tied = append(tied, name)
		default:
			less = append(less, name)
		}
	}
	best := s.named(c.Best)
	list := []string{fmt.Sprintf("%s %s has the highest rate on the %d instances with a verdict in all runs.", best.Letter, best.label, c.Common)}
	if len(tied) > 0 {
		list = append(list, "Not distinguished from it at this number of instances: "+strings.Join(tied, ", ")+".")
	}
	if len(less) > 0 {
		list = append(list, "Resolve less: "+strings.Join(less, ", ")+".")
	}
	return list
}
