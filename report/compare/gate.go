package compare

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// Gate is a condition on a difference, or on the rate of one entry: the whole interval must satisfy
// it.
type Gate struct {
	text   string
	metric string  // rate: the resolved rate of one entry
	sign   string  // >=, >, <= or <
	value  float64 // as a share: -1pt is -0.01, +10% is 0.1
}

// Ruling is the result of a gate on an entry, compared with the first entry.
type Ruling struct {
	Gate     string          `json:"gate"`
	A        string          `json:"a"` // empty: the gate tests only B
	B        string          `json:"b"`
	Passed   bool            `json:"passed"`
	Interval *stats.Interval `json:"interval"` // as a share; null: unknown, and the gate failed
	Text     string          `json:"text"`     // in words: "gate passed: ..."
}

var gateForm = lazy.Regexp(`^\s*([a-z]+)\s*(>=|<=|>|<)\s*([+-]?[0-9]+(?:\.[0-9]+)?)\s*(pt|%|)\s*$`)

// GateHelp describes the form of a gate.
const GateHelp = "such as 'resolved >= -1pt' (points of the difference), 'resolved >= 60%' (the rate of one) or 'cost <= +10%' (also steps and seconds); the signs are >=, >, <= and <"

// ParseGate reads a gate: METRIC SIGN VALUE. resolved takes points of the difference of two rates,
// or a percentage, which is a rate itself; cost, steps and seconds take a percentage of A's mean.
// The error does not repeat [GateHelp].
func ParseGate(text string) (Gate, error) {
	m := gateForm().FindStringSubmatch(text)
	if m == nil {
		return Gate{}, errors.New("expected METRIC SIGN VALUE")
	}
	value, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		return Gate{}, fmt.Errorf("the number %s: %w", m[3], errors.Unwrap(err))
	}
	g := Gate{text: strings.Join(strings.Fields(m[1]+" "+m[2]+" "+m[3]+m[4]), " "), metric: m[1], sign: m[2], value: value / 100}
	unit := "%"
	switch g.metric {
	case "resolved":
		if m[4] == "%" && m[3][0] != '+' && m[3][0] != '-' && g.value <= 1 {
			g.metric = rateMetric
			return g, nil
		}
		unit = "pt"
	case "cost", "steps", "seconds":
	default:
		return Gate{}, fmt.Errorf("unknown metric %q: expected resolved, cost, steps or seconds", g.metric)
	}
	if m[4] != unit {
		return Gate{}, fmt.Errorf("%s of what? %s takes %s: write %s%s", m[3]+m[4], g.metric, unitNames[unit], m[3], unit)
	}
	return g, nil
}

var unitNames = map[string]string{"pt": "points (pt)", "%": "a percentage of the first one's mean (%)"}

// rule applies the gate to each pair with the first entry.
func (g Gate) rule(c Comparison) []Ruling {
	var list []Ruling
	for _, p := range c.Pairs {
		if p.A != c.Entries[0].Name {
			continue
		}
		r := Ruling{Gate: g.text, A: p.A, B: p.B}
		why := ""
		r.Interval, why = g.interval(p)
		if r.Interval != nil {
			r.Passed, why = g.holds(*r.Interval)
		}
		verdict := "gate failed"
		if r.Passed {
			verdict = "gate passed"
		}
		r.Text = fmt.Sprintf("%s: %s: %s", verdict, g.text, why)
		if len(c.Entries) > 2 {
			r.Text = fmt.Sprintf("%s: %s of %s: %s", verdict, g.text, p.B, why)
		}
		list = append(list, r)
	}
	return list
}

// interval returns the interval of the gate's metric, or why there is none.
func (g Gate) interval(p Pair) (*stats.Interval, string) {
	if g.metric == "resolved" {
		if p.N == 0 {
			return nil, "no instance has a score on both sides"
		}
		return known(stats.Interval{Low: p.Low, High: p.High}), "there is no interval"
	}
	m := map[string]*Measure{"cost": p.Cost, "steps": p.Steps, "seconds": p.Seconds}[g.metric]
	switch {
	case m == nil:
		return nil, fmt.Sprintf("%s are not known on both sides of any instance", plural[g.metric])
	case m.RelativeInterval == nil:
		return nil, fmt.Sprintf("there is no interval for %d instances, or the mean of %s is 0", m.N, p.A)
	}
	return m.RelativeInterval, ""
}

var plural = map[string]string{"cost": "costs", "steps": "steps", "seconds": "times"}

// holds reports whether the whole interval satisfies the gate, and describes the deciding end.
func (g Gate) holds(in stats.Interval) (bool, string) {
	show := Percent
	switch g.metric {
	case "resolved":
		show = Points
	case rateMetric:
		show = rate
	}
	end, ok := in.Low, in.Low >= g.value
	switch g.sign {
	case ">":
		ok = in.Low > g.value
	case "<=":
		end, ok = in.High, in.High <= g.value
	case "<":
		end, ok = in.High, in.High < g.value
	}
	if ok {
		return true, fmt.Sprintf("the interval is %s to %s", show(in.Low), show(in.High))
	}
	return false, "the interval reaches " + show(end)
}

// Points formats a difference of rates: "+1.5pt".
func Points(v float64) string { return signedNumber(100*v, 1) + "pt" }

// Percent formats a share as a change: "+12.5%".
func Percent(v float64) string { return signedNumber(100*v, 1) + "%" }

// signedNumber omits the sign of a value that rounds to 0.
func signedNumber(v float64, digits int) string {
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	if v > 0 {
		text = "+" + text
	}
	return text
}

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
