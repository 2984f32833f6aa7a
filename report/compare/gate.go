package compare

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/report/stats"
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
