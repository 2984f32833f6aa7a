package report

import (
	"fmt"
	"slices"
	"strings"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
)

const bins = 24

// metric is a value of an instance that has a distribution.
type metric struct {
	name string
	of   func(result) *float64
	show func(float64) string
	axis func(high float64, ticks int) axis
	tick func(axis, float64) string
}

var metrics = []metric{
	{"Steps", stepsOf, mean, fromZero, func(_ axis, v float64) string { return mean(v) }},
	{"Cost", costOf, printable.Dollars, fromZero, axis.dollars},
	{"Time", secondsOf, report.Seconds, newClock, func(_ axis, v float64) string { return clockTick(v) }},
}

func fromZero(high float64, ticks int) axis { return newAxis(0, high, ticks) }

// clockTick leaves out seconds and minutes that are zero: "5m".
func clockTick(v float64) string {
	text := report.Seconds(v)
	if v >= 60 {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "00s"), "00m")
	}
	return text
}

// distributions leaves out values that are unknown or zero for all instances. Each figure has a histogram
// for each entry.
func (s study) distributions() *section {
	part := &section{ID: "distributions", Name: "Steps, cost and time of an instance", Class: "three"}
	note := "Instances by value: filled bars resolved, outlined bars not resolved. The line is the median."
	for _, m := range metrics {
		f, beyond := s.distribution(m)
		if len(f.Rows) == 0 {
			continue
		}
		if beyond && len(part.Figures) == 0 {
			note += " The last bar has everything beyond the scale too."
		}
		part.Figures = append(part.Figures, f)
	}
	if part.Figures == nil {
		return nil
	}
	part.Notes = []string{note}
	return part
}

func (s study) distribution(m metric) (f figure, beyond bool) {
	var all []float64
	for _, e := range s.entries {
		all = append(all, s.values(e, m.of)...)
	}
	if len(all) == 0 || slices.Max(all) <= 0 {
		return f, false
	}
	const almostAll = 0.99 // a few very large values would put all others into one bar
	end, _ := stats.Quantile(all, almostAll)
	a := m.axis(end, 3)
	beyond = slices.Max(all) > a.high
	f.Name = m.name
	var counts [][2][bins]int
	most := 0
	for _, e := range s.entries {
		c := s.binned(e, m, a)
		counts = append(counts, c)
		for i := range bins {
			most = max(most, c[0][i]+c[1][i])
		}
	}
	for i, e := range s.entries {
		if values := s.values(e, m.of); len(values) > 0 {
			f.Rows = append(f.Rows, drawHistogram(e, m, a, counts[i], most, values))
		}
	}
	label := func(v float64) string {
		if beyond && v == a.ticks[len(a.ticks)-1] {
			return "≥ " + m.tick(a, v)
		}
		return m.tick(a, v)
	}
	f.Axis = a.labels(label, a.anchor)
	return f, beyond
}

// binned counts the instances in each bar: first the instances that some attempt resolved, then the
// others.
func (s study) binned(e side, m metric, a axis) (counts [2][bins]int) {
	for _, id := range s.ids {
		c := e.cells[id]
		v := m.of(c)
		if v == nil {
			continue
		}
		which := 1
		if c.resolved > 0 {
			which = 0
		}
		counts[which][min(bins-1, int(a.at(*v)*bins))]++
	}
	return counts
}

func drawHistogram(e side, m metric, a axis, counts [2][bins]int, most int, values []float64) chart {
	const height = 46.0
	quantile := func(q float64) string {
		v, _ := stats.Quantile(values, q)
		return m.show(v)
	}
	middle, _ := stats.Median(values)
	summary := fmt.Sprintf("median %s, middle half %s to %s", m.show(middle), quantile(0.25), e.part(quantile(0.75), values))
	d := newDrawing("row", int(height)+1, e.Letter+", "+m.name, summary)
	for i := range bins {
		x, width := (float64(i)+0.08)/bins, 0.84/bins
		full := height * float64(counts[0][i]) / float64(most)
		open := height * float64(counts[1][i]) / float64(most)
		d.bar("full "+e.Class, x, height-full, width, full)
		d.bar("open "+e.Class, x, height-full-open, width, open)
	}
	d.line("axis", 0, height, 1, height)
	d.line("median", a.at(middle), 0, a.at(middle), height)
	return chart{cell{Mark: e.sign(), Small: summary}, d.done()}
}
