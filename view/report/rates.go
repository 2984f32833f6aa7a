package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
	"batch.example/batch/results/scores"
)

func (s study) rates(findings []string) *section {
	rates := make([]rate, len(s.entries))
	low, high := 1.0, 0.0
	for i, e := range s.entries {
		if rates[i] = s.rateOf(e, s.ids); rates[i].instances > 0 {
			low, high = min(low, rates[i].Low), max(high, rates[i].High)
		}
	}
	if low > high {
		low, high = 0, 1
	}
	a := newAxis(low, high, 4)
	note := "A rate is of the instances with a verdict."
	if s.several() {
		note = "A rate is the mean over instances with a verdict, each with the mean of its attempts."
	}
	if slices.ContainsFunc(rates, func(r rate) bool { return r.method == stats.ByInstance }) {
		note += fmt.Sprintf(" With instances of fewer than %d repositories, the interval is of these repositories, not of others like them.", stats.Bootstrap{}.Least())
	}
	t := &table{Label: "Rates", Class: "charts", Heads: []cell{
		{Text: "Run"},
		number("Resolved"), number("Rate"), number("95 % interval"), a.head("Chart of the interval", percentTick),
		number("Cost per instance"), number("Cost"), number("Steps, median"), number("Time, median"),
	}}
	for i, e := range s.entries {
		t.add(s.rateRow(e, rates[i], a)...)
	}
	return &section{ID: "rates", Name: "Resolved", Lead: findings, Table: t, Notes: []string{note}}
}

func (s study) rateRow(e side, r rate, a axis) []cell {
	name := e.cell()
	if e.Model != e.Name {
		name.Small = s.text(e.Model, nameText)
	}
	resolved, value, interval := "–", "–", ""
	if r.instances > 0 {
		resolved, value, interval = fmt.Sprintf("%d of %d", r.resolved, r.attempts), printable.Percent(r.value), span(r.Interval)
	}
	costs, steps, times := s.values(e, costOf), s.values(e, stepsOf), s.values(e, secondsOf)
	cost := "–"
	if len(costs) > 0 || slices.ContainsFunc(e.Runs, func(a scores.Run) bool { return a.Snapshot != nil }) {
		cost = e.bill().String()
	}
	return []cell{
		name, number(resolved),
		{Class: "n strong", Text: value},
		number(interval),
		{Class: "chart", Mark: e.whisker(r, a, 34)},
		number(e.part(optional(stats.Mean(costs), printable.Dollars), costs)), number(cost),
		number(e.part(optional(median(steps), mean), steps)), number(e.part(optional(median(times), report.Seconds), times)),
	}
}

// part adds to a mean or a median of how many instances it is, if not of all that the entry has.
func (e side) part(text string, values []float64) string {
	asked := 0
	for _, c := range e.cells {
		asked += min(1, c.asked)
	}
	if n := len(values); 0 < n && n < asked {
		text += fmt.Sprintf(" (of %d)", n)
	}
	return text
}

// bill sums what the attempts cost. Of other tools' files, only the costs of instances are known.
func (e side) bill() (sum report.Bill) {
	for _, a := range e.Runs {
		if a.Snapshot != nil {
			b := report.BillOf(a.Snapshot)
			sum.Cost, sum.Ever, sum.Held = sum.Cost+b.Cost, sum.Ever+b.Ever, sum.Held+b.Held
			sum.Lost, sum.Unpriced = sum.Lost+b.Lost, sum.Unpriced+b.Unpriced
			continue
		}
		for _, id := range sortedIDs(a) {
			if s := a.Scores[id]; s.Cost != nil {
				sum.Cost, sum.Ever = sum.Cost+*s.Cost, sum.Ever+*s.Cost
				sum.Held, sum.Unpriced = sum.Held+s.Held, sum.Unpriced+s.Unpriced
			}
		}
	}
	return sum
}

func stepsOf(c result) *float64   { return c.steps }
func costOf(c result) *float64    { return c.cost }
func secondsOf(c result) *float64 { return c.seconds }

// values returns the known values of an entry, one for each instance, in the order of ids.
func (s study) values(e side, of func(result) *float64) []float64 {
	var list []float64
	for _, id := range s.ids {
		if v := of(e.cells[id]); v != nil {
			list = append(list, *v)
		}
	}
	return list
}

func median(values []float64) *float64 {
	if m, ok := stats.Median(values); ok {
		return &m
	}
	return nil
}

// whisker draws a rate and its interval as one row of a chart.
func (e side) whisker(r rate, a axis, height int) template.HTML {
	if r.instances == 0 {
		return ""
	}
	d := newDrawing("row", height, fmt.Sprintf("%s: %s, 95 %% interval %s", e.Letter, printable.Percent(r.value), span(r.Interval)), "")
	d.grid(a, float64(height))
	e.draw(d, r, a, float64(height)/2)
	return d.done()
}

// draw draws a rate and its interval at a height.
func (e side) draw(d *drawing, r rate, a axis, y float64) {
	if r.Known() {
		d.line(e.Class, a.at(r.Low), y, a.at(r.High), y)
	}
	d.mark(e.key, a.at(r.value), y)
}

// grid draws a line down the drawing for each tick.
func (d *drawing) grid(a axis, height float64) {
	for _, t := range a.ticks {
		class := "grid"
		if t == 0 && a.low < 0 {
			class = "zero"
		}
		d.line(class, a.at(t), 0, a.at(t), height)
	}
}

// head has the labels of the ticks for the head of a table's column, which has room for half a label on both
// sides.
func (a axis) head(title string, label func(float64) string) cell {
	return cell{Class: "chart", Hidden: title, Mark: a.labels(label, func(float64) string { return "middle" })}
}

func (a axis) labels(label, anchor func(float64) string) template.HTML {
	d := &drawing{}
	d.WriteString(`<svg class="ticks" width="100%" height="16" aria-hidden="true">`)
	for _, t := range a.ticks {
		d.label(anchor(t), a.at(t), 12, label(t))
	}
	return d.done()
}

func percentTick(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func pointTick(v float64) string {
	return signed(math.Round(100*v), func(v float64) string { return fmt.Sprintf("%.0f", v) })
}

// repo is a repository's name.
func (s study) repo(name string) string { return s.text(cmp.Or(name, "unknown repository"), shortText) }

const mostRepos = 40 // with their own rows

// repositories are the rates by repository. It returns nil if there is only one repository, or if each has
// only one instance: then the table of instances says the same.
func (s study) repositories() *section {
	byRepo := map[string][]string{}
	for _, id := range s.ids {
		byRepo[s.repos[id]] = append(byRepo[s.repos[id]], id)
	}
	if len(byRepo) < 2 || len(byRepo) == len(s.ids) {
		return nil
	}
	a := newAxis(0, 1, 4)
	heads := append(s.heads("Repository", number("Instances")), a.head("Rates and 95 % intervals", percentTick))
	t := &table{Label: "Rates by repository", Class: "charts", Heads: heads}
	names := slices.SortedFunc(maps.Keys(byRepo), func(x, y string) int {
		return cmp.Or(len(byRepo[y])-len(byRepo[x]), cmp.Compare(x, y))
	})
	for _, name := range names[:min(mostRepos, len(names))] {
		t.add(s.repoRow(name, byRepo[name], a)...)
	}
	note := "The interval within a repository takes its instances as independent. With few of them it is wide: compare within a row with care."
	if rest := len(names) - mostRepos; rest > 0 {
		note += fmt.Sprintf(" %s with fewer instances not shown.", printable.Count(rest, "repository", "repositories"))
	}
	return &section{ID: "repositories", Name: "By repository", Table: t, Notes: []string{note}}
}

func (s study) repoRow(name string, ids []string, a axis) []cell {
	const line = 13.0
	cells := []cell{{Name: s.repo(name)}, number(fmt.Sprint(len(ids)))}
	rates := make([]rate, len(s.entries))
	text := ""
	for i, e := range s.entries {
		rates[i] = s.rateOf(e, ids)
		if rates[i].instances == 0 {
			cells = append(cells, number("–"))
			continue
		}
		cells = append(cells, number(percentTick(rates[i].value)))
		text += fmt.Sprintf("%s %s, %s. ", e.Letter, printable.Percent(rates[i].value), span(rates[i].Interval))
	}
	height := line*float64(len(s.entries)) + 10
	d := newDrawing("row", int(height), cells[0].Name, text)
	d.grid(a, height)
	for i, e := range s.entries {
		if rates[i].instances > 0 {
			e.draw(d, rates[i], a, 5+line*(float64(i)+0.5))
		}
	}
	return append(cells, cell{Class: "chart", Mark: d.done()})
}
