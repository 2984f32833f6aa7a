package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/term"

	"batch.example/batch/imagecache"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/progress"
	"batch.example/batch/runner"
)

// display shows a run to a person or a program.
type display struct {
	progress.Display
	log   io.Writer // where log lines for a person go; nil when the display has its own
	mask  *mask.Masker
	total int // instances
}

// show shows e, with its secrets hidden.
func (d display) show(e progress.Event) {
	e.Time, e.Text, e.Error = time.Now(), d.mask.Text(e.Text), d.mask.Text(e.Error)
	d.Display.Event(e)
}

// newDisplay chooses by the flags and by what stderr is.
func (a *app) newDisplay(quiet, asJSON bool, total, workers int) display {
	if asJSON {
		return display{progress.NewJSON(a.stdout), a.stderr, a.mask, total}
	}
	if quiet {
		return display{progress.NewQuiet(), io.Discard, a.mask, total}
	}
	f, ok := progress.TerminalOf(a.stderr)
	if !ok || a.getenv("TERM") == "dumb" {
		l := progress.NewLines(a.stderr)
		return display{l, l.LogWriter(), a.mask, total}
	}
	size := func() (int, int) {
		cols, rows, _ := term.GetSize(int(f.Fd()))
		return cols, rows
	}
	t := progress.NewTerminal(f, size, total, workers, time.Now)
	return display{t, a.mask.Writer(t.LogWriter()), a.mask, total}
}

// Event implements run.View.
func (d display) Event(e runner.Event) {
	p := progress.Event{
		Instance: e.Job, Attempt: e.Attempt,
		Phase: e.Progress.Phase, Step: e.Progress.Step, Cost: e.Progress.Cost,
	}
	switch e.Type {
	case runner.EventStart:
		p.Type = progress.InstanceStart
	case runner.EventPhase:
		p.Type = progress.InstancePhase
	case runner.EventRetry:
		p.Type = progress.Message
		p.Text = fmt.Sprintf("%s: %s; trying again", e.Job, e.Ending.Error)
	case runner.EventEnd:
		p.Type = progress.InstanceEnd
		p.Status, p.Outcome, p.Error = string(e.Ending.Status), string(e.Ending.Outcome), e.Ending.Error
		p.Step, p.Cost = e.Ending.Steps, e.Ending.Cost
	}
	d.show(p)
}

// Say shows one line of ours.
func (d display) Say(text string) { d.show(progress.Event{Type: progress.Message, Text: text}) }

// Pulled implements run.View.
func (d display) Pulled(instance string, p imagecache.Progress) {
	d.show(progress.Event{Type: progress.Pull, Instance: instance, Bytes: p.Current, BytesTotal: p.Total})
}

// Progress implements run.View.
func (d display) Progress(ended bool, done int, spent float64) {
	e := progress.Event{Type: progress.RunStart, Done: done, Total: d.total, Cost: spent}
	if ended {
		e.Type = progress.RunEnd
	}
	d.show(e)
}

// Log implements run.View: a person sees warnings and worse.
func (d display) Log() slog.Handler {
	return slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelWarn})
}

// warnings returns a logger for what a person should know of that comes before a
// run begins, or of a command that has no display.
func (a *app) warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(progress.OnNewLine(a.stderr), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
