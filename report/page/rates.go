package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
)

// ratesView is the table of the rates.
type ratesView struct {
	Axis template.HTML
	Rows []rateRow
	Note string
}

type rateRow struct {
	Entry                       side
	Model                       string // empty if it equals the name
	Resolved, Rate, Interval    string
	Chart                       template.HTML
	CostEach, Cost, Steps, Time string
}

func (s study) ratesView() ratesView {
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
	v := ratesView{Axis: a.row(percentTick), Note: "A rate is of the instances with a verdict."}
	if s.several() {
		v.Note = "A rate is the mean over instances with a verdict, each with the mean of its attempts."
	}
	if slices.ContainsFunc(rates, func(r rate) bool { return r.method == stats.ByInstance }) {
		v.Note += fmt.Sprintf(" With instances of fewer than %d repositories, the interval is of these repositories, not of others like them.", stats.Bootstrap{}.Least())
	}
	for i, e := range s.entries {
		v.Rows = append(v.Rows, e.rateRow(s, rates[i], a))
	}
	return v
}

func (e side) rateRow(s study, r rate, a axis) rateRow {
	row := rateRow{Entry: e, Rate: "–", Resolved: "–", Chart: e.whisker(r, a, 34)}
	if e.Model != "" && e.Model != e.Name {
		row.Model = cut(e.Model, 120)
	}
	if r.instances > 0 {
		row.Rate, row.Interval = percent(r.value), span(r.Interval)
		row.Resolved = fmt.Sprintf("%d of %d", r.resolved, r.attempts)
	}
	costs := s.values(e, costOf)
	steps, times := s.values(e, stepsOf), s.values(e, secondsOf)
	row.CostEach, row.Cost = e.part(optional(stats.Mean(costs), printable.Dollars), costs), "–"
	if bill := e.bill(); len(costs) > 0 || bill.Cost > 0 {
		row.Cost = bill.String()
	}
	row.Steps = e.part(optional(median(steps), number), steps)
	row.Time = e.part(optional(median(times), duration), times)
	return row
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

func stepsOf(c cell) *float64   { return c.steps }
func costOf(c cell) *float64    { return c.cost }
func secondsOf(c cell) *float64 { return c.seconds }

// values returns the known values of an entry, one for each instance, in the order of ids.
func (s study) values(e side, of func(cell) *float64) []float64 {
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
	d := newDrawing("row", height, fmt.Sprintf("%s: %s, 95 %% interval %s", e.Letter, percent(r.value), span(r.Interval)), "")
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

// row draws the labels of the ticks for the head of a table's column, which has room for half a
// label on both sides.
func (a axis) row(label func(float64) string) template.HTML {
	return a.labels(label, func(float64) string { return "middle" })
}

// below draws the labels of the ticks for the foot of a chart, all inside it.
func (a axis) below(label func(float64) string) template.HTML { return a.labels(label, a.anchor) }

func (a axis) labels(label, anchor func(float64) string) template.HTML {
	d := &drawing{}
	d.WriteString(`<svg class="ticks" width="100%" height="16" aria-hidden="true">`)
	for _, t := range a.ticks {
		d.label("", anchor(t), a.at(t), 12, 0, label(t))
	}
	return d.done()
}

func percentTick(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }

func pointTick(v float64) string {
	v = math.Round(100 * v)
	switch {
	case v > 0:
		return fmt.Sprintf("+%.0f", v)
	case v < 0:
		return fmt.Sprintf("−%.0f", -v)
	default:
		return "0"
	}
}
