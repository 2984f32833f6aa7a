package main

import (
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/term"

	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/progress"
	"batch.example/batch/run/rundir"
	"batch.example/batch/vocab"
)

// display shows a job to a person or a program.
type display struct {
	progress.Display
	mask    *mask.Masker
	about   vocab.Event    // known before the job begins
	cost    func() float64 // of all answered calls so far
	json    bool
	started time.Time
	begun   func() // called before the first totals are shown
}

// show shows e, with its secrets hidden.
func (d display) show(e vocab.Event) {
	if e.Type == vocab.EventRunStart || e.Type == vocab.EventRunEnd {
		d.begun()
		e = d.totals(e)
	}
	e.Text, e.Error = d.mask.Text(e.Text), d.mask.Text(e.Error)
	e.Spent = d.cost()
	d.Display.Event(e)
}

// progress returns the view of a run's events.
func (a *app) progress(run vocab.Event, json, quiet bool) progress.Display {
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

// totals adds what is known of the whole job to its beginning or end.
func (d display) totals(e vocab.Event) vocab.Event {
	all := d.about
	all.Time, all.Type, all.Done, all.Total, all.Cost, all.Lost, all.Held = e.Time, e.Type, e.Done, e.Total, e.Cost, e.Lost, e.Held
	if e.Type == vocab.EventRunEnd {
		all.Elapsed, all.Outcomes = e.Time.Sub(d.started), e.Outcomes
		if d.json { // otherwise the command says so when it ends
			all.Error = e.Error
		}
	}
	return all
}

// warnings returns a logger for messages to a person before a run begins, or from a command
// that has no display.
func (a *app) warnings() *slog.Logger {
	w := progress.OnNewLine(a.stderr)
	return slog.New(rundir.LogHandler(func(e vocab.Event) {
		fmt.Fprintln(w, "batch: warning: "+printable.Line(progress.Notice(e)))
	}))
}
