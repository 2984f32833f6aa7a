package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/term"

	"batch.example/batch/imagecache"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/progress"
	"batch.example/batch/results/grades"
	"batch.example/batch/run/rundir"
	"batch.example/batch/runner"
)

// display shows a job to a person or a program. It implements rundir.View.
type display struct {
	progress.Display
	mask    *mask.Masker
	about   progress.Event // known before the job begins
	cost    func() float64 // of all answered calls so far
	json    bool
	started time.Time
	cell    string // of a sweep; empty: none
	begun   func() // called before the first progress is shown
}

// show shows e, with its secrets hidden.
func (d display) show(e progress.Event) {
	e.Text, e.Error = d.mask.Text(e.Text), d.mask.Text(e.Error)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Spent = d.cost()
	if d.cell != "" && e.Instance != "" {
		e.Cell = d.cell
	}
	d.Display.Event(e)
}

// progress returns the view of a run's events.
func (a *app) progress(run progress.Event, json, quiet bool) progress.Display {
	if json {
		return progress.NewJSON(a.stdout)
	}
	if quiet {
		return progress.NewQuiet(progress.OnNewLine(a.stderr))
	}
	f, ok := progress.TerminalOf(a.stderr)
	if !ok || a.getenv("TERM") == "dumb" {
		return progress.NewLines(a.stderr)
	}
	size := func() (int, int) {
		cols, rows, _ := term.GetSize(int(f.Fd()))
		return cols, rows
	}
	return progress.NewTerminal(f, size, run.Total, run.Workers, time.Now)
}

// Event implements rundir.View.
func (d display) Event(e runner.Event) {
	p := progress.Event{
		Instance: e.Job, Attempt: e.Attempt,
		Phase: e.Progress.Phase, Step: e.Progress.Step, Cost: e.Progress.Cost, Engine: e.Progress.Engine,
	}
	switch e.Type {
	case runner.EventStart:
		p.Type = progress.InstanceStart
	case runner.EventPhase:
		p.Type = progress.InstancePhase
		if e.Progress.Held {
			p.Phase = "paused"
		}
		if again := e.Progress.Retry; again != nil {
			p.Type, p.Error = progress.CallRetry, again.Reason
			p.Try, p.Tries, p.Wait, p.RateLimited = again.Try, again.Tries, again.Wait, again.RateLimited
		}
	case runner.EventRetry, runner.EventEnd:
		p.Type = progress.InstanceEnd
		if e.Type == runner.EventRetry {
			p.Type, p.Wait = progress.InstanceRetry, e.Wait
		}
		p.Status, p.Outcome, p.Blame, p.Error = string(e.Ending.Status), string(e.Ending.Outcome), e.Ending.Blame, e.Ending.Error
		p.Step, p.Cost = e.Ending.Steps, e.Ending.Cost
	}
	d.show(p)
}

// Say implements rundir.View.
func (d display) Say(text string) {
	if d.cell != "" {
		text = d.cell + ": " + text
	}
	d.show(progress.Event{Type: progress.Message, Text: text})
}

// Pulled implements rundir.View.
func (d display) Pulled(instance string, p imagecache.Progress) {
	d.show(progress.Event{Type: progress.Pull, Instance: instance, Bytes: p.Current, BytesTotal: p.Total})
}

// Graded implements rundir.View.
func (d display) Graded(g grades.Grade) {
	d.show(progress.Event{Type: progress.Graded, Instance: g.InstanceID, Verdict: string(g.Verdict), Error: cmp.Or(g.Error, g.Why)})
}

// Progress implements rundir.View. A sweep shows the sums over its cells.
func (d display) Progress(p rundir.Progress) {
	if d.cell != "" {
		return
	}
	d.begun()
	e := d.about
	e.Time, e.Type, e.Done, e.Total, e.Cost = time.Now(), progress.RunStart, p.Done, p.Total, p.Spent
	e.Lost, e.Held = p.Unanswered.Lost, p.Unanswered.Held
	if p.Ended {
		e.Type, e.Elapsed, e.Outcomes = progress.RunEnd, e.Time.Sub(d.started), p.Outcomes
		if d.json && p.Host != nil { // otherwise the command says so when it ends
			e.Error = p.Host.Error()
		}
	}
	d.show(e)
}

// Cell implements rundir.View: all cells of a sweep are in one display.
func (d display) Cell(name string) rundir.View {
	d.cell = name
	return d
}

// Log implements rundir.View: a person sees warnings and errors.
func (d display) Log() slog.Handler { return progress.LogHandler(d.show) }

// warnings returns a logger for messages to a person before a run begins, or from a command
// that has no display.
func (a *app) warnings() *slog.Logger {
	w := progress.OnNewLine(a.stderr)
	return slog.New(progress.LogHandler(func(e progress.Event) {
		fmt.Fprintln(w, "batch: warning: "+printable.Line(progress.Notice(e)))
	}))
}
