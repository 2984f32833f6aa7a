package compare

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// rateMetric is the metric of a gate on the rate of one entry.
const rateMetric = "rate"

func (g Gate) ofRate() bool { return g.metric == rateMetric }

// ruleRates applies a gate on rates to each entry except the baseline, or to the only one. The rate
// covers all instances for which the entry has a score.
func (g Gate) ruleRates(sides []side, boot stats.Bootstrap) []Ruling {
	var list []Ruling
	repos := reposOf(sides)
	for _, s := range sides[min(1, len(sides)-1):] {
		own := commonOf([]side{s})
		interval := s.entry(own, repos, boot).Interval
		r := Ruling{Gate: g.text, B: s.scores.Name, Interval: &interval}
		verdict, why := "gate failed", ""
		if r.Passed, why = g.holds(interval); r.Passed {
			verdict = "gate passed"
		}
		if len(own) == 0 {
			r.Passed, r.Interval, verdict, why = false, nil, "gate failed", "no instance has a score"
		}
		r.Text = fmt.Sprintf("%s: %s of %s: %s", verdict, g.text, r.B, why)
		list = append(list, r)
	}
	return list
}

// One evaluates one entry with gates. `batch compare --json` writes it.
type One struct {
	Level   float64               `json:"level"` // of all intervals
	Entry   Side                  `json:"entry"` // over its instances with a score
	LeftOut map[scores.Reason]int `json:"left_out"`
	Gates   []Ruling              `json:"gates"`
}

// NewOne applies gates on rates to one entry. Other gates need a second entry: see [OnDifference].
func NewOne(e scores.Side, o Options) One {
	s := newSide(e)
	boot := complete(o.Bootstrap)
	one := One{Level: boot.Level, Entry: s.entry(commonOf([]side{s}), reposOf([]side{s}), boot), Gates: []Ruling{}}
	one.LeftOut, _, _ = s.without()
	for _, g := range o.Gates {
		one.Gates = append(one.Gates, g.ruleRates([]side{s}, boot)...)
	}
	holdBack(one.Gates, []side{s}, o.MaxLeftOut)
	return one
}

// OnDifference returns the first gate on a difference between two entries.
func OnDifference(gates []Gate) (text string, found bool) {
	i := slices.IndexFunc(gates, func(g Gate) bool { return !g.ofRate() })
	if i < 0 {
		return "", false
	}
	return gates[i].text, true
}

// Passed reports whether all gates are passed.
func (o One) Passed() bool { return Comparison{Gates: o.Gates}.Passed() }

// lines returns the text of all parts.
func (o One) lines() []string {
	list := []string{fmt.Sprintf("%s, resolved %s, %s interval %s to %s", o.Entry.about(), rate(o.Entry.Rate),
		Comparison{Level: o.Level}.level(), rate(o.Entry.Interval.Low), rate(o.Entry.Interval.High))}
	if words := ReasonWords(o.LeftOut); words != "" {
		list = append(list, "left out: "+words)
	}
	for _, note := range o.Entry.Notes {
		list = append(list, "note: "+note)
	}
	return list
}

// Write writes the entry and its gates as text for a terminal.
func (o One) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	t := text{Writer: b}
	for _, line := range o.lines() {
		t.words("", "%s", line)
	}
	for _, r := range o.Gates {
		t.words("", "%s", r.Text)
	}
	return b.Flush()
}

// WriteMarkdown writes the entry and its gates in GitHub's Markdown: see
// [Comparison.WriteMarkdown].
func (o One) WriteMarkdown(w io.Writer) error {
	m := markdown{Writer: bufio.NewWriter(w)}
	for _, line := range o.lines() {
		fmt.Fprintf(m, "- %s\n", escaped(line))
	}
	for _, r := range o.Gates {
		fmt.Fprintf(m, "\n**%s**\n", sentence(escaped(r.Text)))
	}
	return m.Flush()
}
