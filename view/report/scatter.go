package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"

	"batch.example/batch/internal/printable"
	"batch.example/batch/report"
	"batch.example/batch/report/stats"
)

// point is an entry with a cost and a rate.
type point struct {
	side
	rate
	cost  float64 // mean per instance
	costs stats.Interval
}

// scatter is the chart of cost against rate. It returns nil if no entry has both a rate and a cost.
func (s study) scatter() *section {
	var list []point
	for _, e := range s.entries {
		r, cost := s.rateOf(e, s.ids), stats.Mean(s.values(e, costOf))
		if r.instances > 0 && cost != nil {
			list = append(list, point{e, r, *cost, s.costInterval(e)})
		}
	}
	if len(list) == 0 || !slices.ContainsFunc(list, func(p point) bool { return p.cost > 0 }) {
		return nil
	}
	return &section{ID: "cost", Name: "Cost against resolved", Class: "half", Figures: []figure{{
		Rows:    []chart{{Drawing: drawScatter(list)}},
		Caption: "Up and to the left is better. Across: mean cost per instance; up: rate; both with their 95 % interval.",
	}}}
}

// costInterval returns the interval of the mean cost per instance, over repositories if there are
// enough.
func (s study) costInterval(e side) stats.Interval {
	var pairs []stats.Pair
	for _, id := range s.ids {
		if c := e.cells[id].cost; c != nil {
			pairs = append(pairs, stats.Pair{Cluster: s.repos[id], B: *c})
		}
	}
	return stats.Bootstrap{}.Difference(pairs)
}

func drawScatter(list []point) template.HTML {
	const height, top, bottom = 300.0, 14.0, 276.0
	low, high, most := 1.0, 0.0, 0.0
	text := ""
	for _, p := range list {
		low, high, most = min(low, p.Low), max(high, p.High), max(most, p.cost)
		if p.costs.Known() {
			most = max(most, p.costs.High)
		}
		text += fmt.Sprintf("%s: %s per instance, %s resolved. ", p.Letter, printable.Dollars(p.cost), printable.Percent(p.value))
	}
	y, x := newAxis(low, high, 5), newAxis(0, most*1.05, 4)
	down := func(v float64) float64 { return bottom - y.at(v)*(bottom-top) }
	d := newDrawing("scatter", height, "Cost per instance against the share resolved", text)
	for i, t := range y.ticks {
		class := "grid"
		if i == 0 {
			class = "axis"
		}
		d.line(class, 0, down(t), 1, down(t))
		d.label("start", 0, down(t)-4, percentTick(t))
	}
	for _, t := range x.ticks {
		d.line("axis", x.at(t), bottom, x.at(t), bottom+4)
		d.label(x.anchor(t), x.at(t), bottom+18, x.dollars(t))
	}
	for _, p := range list {
		d.line(p.Class, x.at(p.cost), down(p.Low), x.at(p.cost), down(p.High))
		if p.costs.Known() {
			d.line(p.Class, x.at(p.costs.Low), down(p.value), x.at(p.costs.High), down(p.value))
		}
	}
	for i, at := range labelHeights(list, x, down) {
		p := list[i]
		d.mark(p.key, x.at(p.cost), down(p.value))
		anchor, dx := "start", 9.0
		if x.at(p.cost) > 0.5 {
			anchor, dx = "end", -9
		}
		d.name(anchor, x.at(p.cost), at, dx, p.Letter, report.OneLine(p.label, 28))
	}
	return d.done()
}

// labelHeights places the names of points above their horizontal bars, and moves overlapping names
// up.
func labelHeights(list []point, x axis, down func(float64) float64) []float64 {
	const above, line, near = 7.0, 15.0, 0.4
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(down(list[b].value), down(list[a].value)) })
	heights := make([]float64, len(list))
	for n, i := range order {
		heights[i] = down(list[i].value) - above
		for _, j := range order[:n] {
			dist := x.at(list[i].cost) - x.at(list[j].cost)
			if dist < near && dist > -near && heights[i] > heights[j]-line {
				heights[i] = heights[j] - line
			}
		}
	}
	return heights
}
