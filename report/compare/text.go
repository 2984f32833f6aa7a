package compare

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

// width is the number of columns of a paragraph.
const width = 80

// The maximum widths of names and ids in tables.
const (
	longestName = 40
	longestID   = 50
)

// Write writes the comparison as text for a terminal: at most 100 columns unless names are long.
// With list, it lists the instances on which two entries differ.
func (c Comparison) Write(w io.Writer, list bool) error {
	b := bufio.NewWriter(w)
	t := text{Writer: b, c: c}
	t.legend()
	if len(c.Pairs) == 1 {
		t.pair(c.Pairs[0])
	} else {
		t.ranking()
		t.pairs()
	}
	t.details(list)
	return b.Flush()
}

// text writes a comparison.
type text struct {
	*bufio.Writer
	c Comparison
}

// letter returns the short name of an entry in tables: A, B, ... and #27 from the 27th on.
func (c Comparison) letter(name string) string {
	for i, e := range c.Entries {
		if e.Name == name {
			if i < 26 {
				return string(rune('A' + i))
			}
			return "#" + strconv.Itoa(i+1)
		}
	}
	return name
}

func (t text) words(indent, format string, args ...any) {
	fmt.Fprintln(t, indent+printable.Words(report.OneLine(fmt.Sprintf(format, args...), 0), indent, width))
}

func (t text) legend() {
	for _, e := range t.c.Entries {
		const indent = "   "
		fmt.Fprintf(t, "%-2s ", t.c.letter(e.Name))
		fmt.Fprintln(t, printable.Words(report.OneLine(e.about(), 0), indent, width))
	}
}

// about returns the name of an entry with properties that distinguish it from others.
func (e Side) about() string {
	var facts []string
	if e.Model != "" && e.Model != e.Name {
		facts = append(facts, "model "+e.Model)
	}
	if e.Attempts != 1 {
		facts = append(facts, printable.Count(e.Attempts, "attempt", "attempts"))
	}
	facts = append(facts, printable.Count(e.Scored, "instance with a score", "instances with a score"))
	return e.Name + ": " + strings.Join(facts, ", ")
}

// pair writes the only pair.
func (t text) pair(p Pair) {
	fmt.Fprintln(t)
	table := printable.Numbers()
	table.Add("", "A", "B", "B - A", t.c.level()+" interval")
	for _, row := range p.rows() {
		table.Add(row...)
	}
	table.Write(t)
	fmt.Fprintln(t)
	t.words("  ", "%s", p.counts("A", "B"))
	t.words("  ", "%s", p.tested())
	fmt.Fprintln(t)
	t.words("", "%s", t.c.conclusion(p, "A", "B"))
	if power := p.powerWords(); power != "" {
		t.words("", "%s", power)
	}
}

// level formats the level: "95%".
func (c Comparison) level() string { return strconv.FormatFloat(100*c.Level, 'g', 4, 64) + "%" }

// rows returns the rows of a table of the pair, each with A, B, B - A and its interval.
func (p Pair) rows() [][]string {
	rows := [][]string{{
		"resolved", rate(p.RateA), rate(p.RateB), Points(p.Difference), Points(p.Low) + " to " + Points(p.High),
	}}
	for _, m := range []struct {
		name    string
		measure *Measure
		show    func(float64) string
	}{{"cost", p.Cost, report.Dollars}, {"steps", p.Steps, number}, {"time", p.Seconds, report.Seconds}} {
		if m.measure == nil {
			continue
		}
		if m.measure.N < p.N {
			m.name += fmt.Sprintf(" of %d", m.measure.N)
		}
		mean, median := m.measure.rows(m.show)
		rows = append(rows, append([]string{m.name + ", mean"}, mean...), append([]string{m.name + ", median of B - A"}, median...))
	}
	return rows
}

// rows returns the cells of the mean and of the median.
func (m Measure) rows(show func(float64) string) (mean, median []string) {
	change := func(v float64) string { return signed(v, show) }
	span := func(i *stats.Interval) string {
		if i == nil {
			return "-"
		}
		return change(i.Low) + " to " + change(i.High)
	}
	difference := change(m.Difference)
	if m.Relative != nil {
		difference += " (" + Percent(*m.Relative) + ")"
	}
	mean = []string{show(m.MeanA), show(m.MeanB), difference, span(m.Interval)}
	return mean, []string{"", "", change(m.Median), span(m.MedianInterval)}
}

// signed formats a change with its sign.
func signed(v float64, show func(float64) string) string {
	text := show(max(v, -v))
	switch {
	case text == show(0):
		return text
	case v < 0:
		return "-" + text
	default:
		return "+" + text
	}
}

func rate(v float64) string { return printable.Share(v) + "%" }

// number formats a count, or a mean of counts.
func number(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// count formats a whole number without a fraction, and a sum of fractions with one digit.
func count(v float64) string {
	if whole := float64(int(v + 0.5)); v-whole < 1e-9 && whole-v < 1e-9 {
		return strconv.Itoa(int(whole))
	}
	return number(v)
}

// counts says how many instances each side resolved.
func (p Pair) counts(a, b string) string {
	return fmt.Sprintf("resolved of %s: both %s, only %s %s, only %s %s, neither %s",
		printable.Count(p.N, "instance", "instances"), count(p.Both), a, count(p.OnlyA), b, count(p.OnlyB), count(p.Neither))
}

// tested says how the figures of a pair were computed.
func (p Pair) tested() string {
	return fmt.Sprintf("test of the difference: %s; p %s", p.Method, equals(pValue(p.P)))
}

// pValue keeps three significant digits: 0.0504 is not 0.05.
func pValue(p float64) string {
	if p < 0.0001 {
		return "< 0.0001"
	}
	return strconv.FormatFloat(p, 'g', 3, 64)
}

// equals adds "=" to a value without a sign.
func equals(value string) string {
	if strings.HasPrefix(value, "<") {
		return value
	}
	return "= " + value
}

// conclusion says what the figures show.
func (c Comparison) conclusion(p Pair, a, b string) string {
	switch {
	case p.Tied:
		return fmt.Sprintf("tied at this n: %s cannot show a difference between %s and %s", printable.Count(p.N, "instance", "instances"), a, b)
	case p.Difference > 0:
		return fmt.Sprintf("%s is better than %s: it resolves %s more, by its %s interval at least %s",
			b, a, points(p.Difference), c.level(), points(p.Low))
	default:
		return fmt.Sprintf("%s is worse than %s: it resolves %s less, by its %s interval at least %s",
			b, a, points(-p.Difference), c.level(), points(-p.High))
	}
}

// points formats the size of a difference: "1.5 points".
func points(v float64) string { return number(100*v) + " points" }

// powerWords says what this number of instances can show.
func (p Pair) powerWords() string {
	var parts []string
	if p.Power.Smallest != nil {
		parts = append(parts, fmt.Sprintf("with a power of 0.8, %s with this share of differing ones show a difference of %s or more",
			printable.Count(p.N, "instance", "instances"), points(*p.Power.Smallest)))
	}
	switch seen := points(max(p.Difference, -p.Difference)); {
	case !p.Tied || p.Difference == 0:
	case p.Power.Needed != nil:
		parts = append(parts, fmt.Sprintf("a difference of %s needs %s", seen, printable.Count(*p.Power.Needed, "instance", "instances")))
	default:
		parts = append(parts, fmt.Sprintf("no number of instances of these repositories shows a difference of %s", seen))
	}
	return strings.Join(parts, "; ")
}

// ranking writes the table of all entries over the instances that they share.
func (t text) ranking() {
	if t.c.Common == 0 {
		return
	}
	fmt.Fprintln(t)
	table := printable.Numbers(1, 7)
	table.Add("", "entry", "resolved", t.c.level()+" interval", "cost", "steps", "time", "")
	for _, e := range t.c.ranked() {
		table.Add(t.c.letter(e.Name), report.OneLine(e.Name, longestName), rate(e.Rate), rate(e.Interval.Low)+" to "+rate(e.Interval.High),
			t.c.mean(e.Cost, e.Known.Cost, report.Dollars), t.c.mean(e.Steps, e.Known.Steps, number), t.c.mean(e.Seconds, e.Known.Seconds, report.Seconds), t.c.standing(e))
	}
	table.Write(t)
	fmt.Fprintln(t)
	t.words("  ", "%s that all of them have a score for; cost, steps and time are means", printable.Count(t.c.Common, "instance", "instances"))
	fmt.Fprintln(t)
	t.words("", "%s", t.c.tiedWords())
}

// mean returns "-" for an unknown mean, and adds of how many instances it is, if not of all.
func (c Comparison) mean(v *float64, of int, show func(float64) string) string {
	switch {
	case v == nil:
		return "-"
	case of < c.Common:
		return fmt.Sprintf("%s (of %d)", show(*v), of)
	}
	return show(*v)
}

// standing returns "best", "tied" or "".
func (c Comparison) standing(e Side) string {
	switch {
	case e.Name == c.Best:
		return "best"
	case slices.Contains(c.TiedSet, e.Name):
		return "tied"
	default:
		return ""
	}
}

// tiedWords says which entries may be the best.
func (c Comparison) tiedWords() string {
	if len(c.TiedSet) == 1 {
		return fmt.Sprintf("%s is better than all others", c.letter(c.Best))
	}
	letters := make([]string, len(c.TiedSet))
	for i, name := range c.TiedSet {
		letters[i] = c.letter(name)
	}
	return fmt.Sprintf("tied at this n: %s; %s cannot show which of them is better", strings.Join(letters, ", "),
		printable.Count(c.Common, "instance", "instances"))
}

// pairs writes the table of several pairs.
func (t text) pairs() {
	fmt.Fprintln(t)
	table := printable.Numbers(9)
	table.Add(t.c.pairHead()...)
	for _, p := range t.c.Pairs {
		table.Add(t.c.pairRow(p)...)
	}
	table.Write(t)
	fmt.Fprintln(t)
	t.words("  ", "gained: only the first of the two resolved it, lost: only the second; p: after %s correction for %d pairs of %d entries, which decides; intervals are without it",
		t.c.Correction(), t.c.everyPair(), len(t.c.Entries))
}

// pairHead returns the head of the table of several pairs.
func (c Comparison) pairHead() []string {
	return []string{"", "n", "both", "gained", "lost", "neither", "difference", c.level() + " interval", "p", ""}
}

func (c Comparison) pairRow(p Pair) []string {
	return []string{
		c.letter(p.B) + " against " + c.letter(p.A), strconv.Itoa(p.N), count(p.Both), count(p.OnlyB), count(p.OnlyA), count(p.Neither),
		Points(p.Difference), Points(p.Low) + " to " + Points(p.High), pValue(p.Corrected()), p.standing(),
	}
}

func (p Pair) standing() string {
	switch {
	case p.Tied:
		return "tied"
	case p.Difference > 0:
		return "better"
	default:
		return "worse"
	}
}

// details writes the parts after the tables.
func (t text) details(list bool) {
	fmt.Fprintln(t)
	for _, p := range t.c.Pairs {
		if left := t.c.leftOut(p); left != "" {
			t.words("", "%s", left)
		}
	}
	for _, e := range t.c.Entries {
		if len(e.Flaky) > 0 {
			t.words("", "%s", t.c.flaky(e))
		}
		for _, note := range e.Notes {
			t.words("", "note: %s", note)
		}
	}
	for _, note := range t.c.Notes {
		t.words("", "note: %s", note)
	}
	for _, p := range t.c.Pairs {
		t.discordant(p, list)
	}
	for _, r := range t.c.Gates {
		t.words("", "%s", r.Text)
	}
}

// leftOut counts the instances that are in neither rate; it is empty if there are none.
func (c Comparison) leftOut(p Pair) string {
	l := p.LeftOut
	if l.Instances == 0 && l.Attempts == 0 {
		return ""
	}
	a, b := c.letter(p.A), c.letter(p.B)
	text := "left out of both " + a + " and " + b + ": " + printable.Count(l.Instances, "instance", "instances")
	for _, s := range []struct {
		name    string
		reasons map[scores.Reason]int
	}{{a, l.A}, {b, l.B}} {
		if len(s.reasons) > 0 {
			text += "; because of " + s.name + ": " + ReasonWords(s.reasons)
		}
	}
	if l.Attempts > 0 {
		text += fmt.Sprintf("; %s at compared instances: such an instance counts by its other attempts",
			printable.Count(l.Attempts, "attempt without a score", "attempts without a score"))
	}
	return text
}

// ReasonWords counts instances by reason: "2 infrastructure, 1 not graded".
func ReasonWords(count map[scores.Reason]int) string {
	var parts []string
	for _, reason := range scores.Reasons() {
		if n := count[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, reason))
		}
	}
	return strings.Join(parts, ", ")
}

// mostNamed is the number of flaky instances that a line names.
const mostNamed = 8

func (c Comparison) flaky(e Side) string {
	var parts []string
	for _, f := range e.Flaky[:min(len(e.Flaky), mostNamed)] {
		parts = append(parts, fmt.Sprintf("%s (resolved %d of %d)", f.ID, f.Resolved, f.Scored))
	}
	if rest := len(e.Flaky) - len(parts); rest > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", rest))
	}
	return fmt.Sprintf("flaky in %s, %s: %s", c.letter(e.Name), printable.Count(len(e.Flaky), "instance", "instances"), strings.Join(parts, ", "))
}

// discordant lists the instances on which the two differ, or says how to list them.
func (t text) discordant(p Pair, list bool) {
	if len(p.Discordant) == 0 {
		return
	}
	a, b := t.c.letter(p.A), t.c.letter(p.B)
	if !list {
		t.words("", "%s and %s differ on %s: --list names them", a, b, printable.Count(len(p.Discordant), "instance", "instances"))
		return
	}
	table := printable.Numbers()
	table.Add(listHead(a, b)...)
	for _, d := range p.Discordant {
		table.Add(d.listRow(report.OneLine(d.ID, longestID))...)
	}
	fmt.Fprintln(t)
	table.Write(t)
	fmt.Fprintln(t)
}

// share formats yes, no, or the rate of several attempts.
func share(v float64) string {
	switch v {
	case 0:
		return "no"
	case 1:
		return "yes"
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}
