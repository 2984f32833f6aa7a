package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"golang.org/x/term"

	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/progress"
	"batch.example/batch/runner"
)

// display shows a run to a person or a program.
type display struct {
	progress.Display
	log  io.Writer // where log lines for a person go; nil when the display has its own
	mask *mask.Masker
}

// Event shows e, with its secrets hidden.
func (d display) Event(e progress.Event) {
	e.Text, e.Error = d.mask.Text(e.Text), d.mask.Text(e.Error)
	d.Display.Event(e)
}

// terminal returns the terminal that stderr is, if it is one.
func (a *app) terminal() (*os.File, bool) {
	w := a.stderr
	for {
		outer, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			break
		}
		w = outer.Unwrap()
	}
	f, ok := w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// newDisplay chooses by the flags and by what stderr is.
func (a *app) newDisplay(quiet, asJSON bool, total, workers int) display {
	if asJSON {
		return display{progress.NewJSON(a.stdout), a.stderr, a.mask}
	}
	if quiet {
		return display{progress.NewQuiet(), io.Discard, a.mask}
	}
	f, ok := a.terminal()
	if !ok || a.getenv("TERM") == "dumb" {
		l := progress.NewLines(a.stderr)
		return display{l, l.LogWriter(), a.mask}
	}
	size := func() (int, int) {
		cols, rows, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 80, 24
		}
		return cols, rows
	}
	t := progress.NewTerminal(f, size, total, workers, time.Now)
	return display{t, a.mask.Writer(t.LogWriter()), a.mask}
}

// show translates a runner's event.
func (d display) show(e runner.Event) {
	p := progress.Event{
		Time: time.Now(), Instance: e.Job, Attempt: e.Attempt,
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
	d.Event(p)
}

// say shows one line of ours.
func (d display) say(text string) {
	d.Event(progress.Event{Time: time.Now(), Type: progress.Message, Text: text})
}

// warnings returns a logger for what a person should know of that comes before a
// run begins, or of a command that has no display.
func (a *app) warnings() *slog.Logger {
	var w io.Writer = a.stderr
	if f, ok := a.terminal(); ok {
		w = onNewLine{w, f}
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// onNewLine takes the progress of a download off the terminal's line before it
// writes to it.
type onNewLine struct {
	io.Writer
	terminal *os.File
}

// Write implements io.Writer.
func (w onNewLine) Write(p []byte) (int, error) {
	_, _ = w.terminal.WriteString(eraseLine)
	return w.Writer.Write(p)
}

// logger writes warnings and worse for a person, and everything to file.
func (d display) logger(file io.Writer) *slog.Logger {
	return slog.New(slog.NewMultiHandler(
		slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelWarn}),
		slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelInfo}),
	))
}
