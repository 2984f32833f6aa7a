package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"batch.example/batch/internal/progress"
	"batch.example/batch/results"
	"batch.example/batch/run"
)

// sweepDisplay shows all cells of a sweep in one display.
type sweepDisplay struct {
	display
	sweep *run.Sweep
	cells []string // names
}

// newDisplay returns the display of a sweep.
func (s *sweeping) newDisplay(sweep *run.Sweep) sweepDisplay {
	first := s.first()
	total := 0
	for _, in := range s.invocations {
		total += len(in.Instances)
	}
	d := display{started: s.started, mask: s.mask, json: s.flags.json, cost: sweep.Cost, run: progress.Event{
		Directory: s.Dir, Model: s.models(), Dataset: first.Dataset.Name, Version: run.Version(),
		PID: os.Getpid(), Workers: first.Workers, Total: total,
	}}
	if abs, err := filepath.Abs(s.Dir); err == nil {
		d.run.Directory = abs
	}
	d.Display = s.progress(d.run, s.flags.json, s.flags.quiet)
	v := sweepDisplay{display: d, sweep: sweep}
	for _, c := range s.Cells {
		v.cells = append(v.cells, c.Folder)
	}
	return v
}

// models names the models of the cells.
func (s *sweeping) models() string {
	var names []string
	for _, c := range s.Cells {
		if !slices.Contains(names, c.Model) {
			names = append(names, c.Model)
		}
	}
	return strings.Join(names, ", ")
}

// begin and end show the sweep's beginning and its end.
func (d sweepDisplay) begin() { d.total(progress.RunStart) }
func (d sweepDisplay) end()   { d.total(progress.RunEnd) }

func (d sweepDisplay) total(kind string) {
	e := d.run
	e.Time, e.Type, e.Cost = time.Now(), kind, d.sweep.Spent()
	counts := map[string]int{}
	for _, r := range d.sweep.Runs() {
		sum := r.Summary()
		lost := results.UnansweredOf(sum.Records)
		e.Lost, e.Held = e.Lost+lost.Lost, e.Held+lost.Held
		e.Done += len(sum.Asked) - sum.Missing
		for outcome, n := range outcomes(sum) {
			counts[outcome] += n
		}
	}
	if kind == progress.RunEnd {
		e.Outcomes, e.Elapsed = counts, e.Time.Sub(d.started)
	}
	d.show(e)
}

// Cell implements run.SweepView.
func (d sweepDisplay) Cell(i int) run.View {
	d.cell = d.cells[i]
	return cellDisplay{d.display}
}

// cellDisplay shows one cell in the display of its sweep.
type cellDisplay struct{ display }

// Say implements run.View.
func (d cellDisplay) Say(text string) { d.display.Say(d.cell + ": " + text) }

// Progress implements run.View: the sweep shows the sums over all cells.
func (d cellDisplay) Progress(bool, int, float64) {}
