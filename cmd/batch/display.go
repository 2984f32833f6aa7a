package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"batch.example/batch/imagecache"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/progress"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/run"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// display shows a run to a person or a program.
type display struct {
	progress.Display
	mask    *mask.Masker
	run     progress.Event // what is known of the run before it begins
	sum     func() run.Summary
	cost    func() float64 // of all answered calls so far; nil: nothing costs anything
	json    bool
	started time.Time
	cell    string // of a sweep; empty: none
}

// judging is the display of work on patches: grading or selecting.
type judging struct{ display }

// Progress implements grading.View and selecting.View.
func (d judging) Progress(ended bool, done, all int) {
	e := d.run
	e.Time, e.Type, e.Done, e.Total = time.Now(), progress.RunStart, done, all
	if ended {
		e.Type, e.Elapsed = progress.RunEnd, e.Time.Sub(d.started)
		e.Outcomes = map[string]int{}
		for outcome, n := range map[vocab.Outcome]int{vocab.OutcomeSubmitted: done, vocab.OutcomeInfrastructure: all - done} {
			if n > 0 {
				e.Outcomes[string(outcome)] = n
			}
		}
	}
	d.show(e)
}

// show shows e, with its secrets hidden.
func (d display) show(e progress.Event) {
	e.Text, e.Error = d.mask.Text(e.Text), d.mask.Text(e.Error)
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if d.cost != nil {
		e.Spent = d.cost()
	}
	if d.cell != "" && e.Instance != "" {
		e.Cell = d.cell
	}
	d.Display.Event(e)
}

// newDisplay returns the display of a run, chosen by the flags and by what stderr is.
func (s *invocation) newDisplay(r *run.Run) display {
	d := display{started: s.started, mask: s.mask, sum: r.Summary, cost: r.Cost, json: s.flags.json, run: progress.Event{
		Directory: s.Output, Model: s.Settings.Model.ModelName, Dataset: s.Dataset.Name, Version: run.Version(),
		PID: os.Getpid(), Workers: s.Workers, Total: len(s.Instances),
	}}
	if abs, err := filepath.Abs(s.Output); err == nil {
		d.run.Directory = abs
	}
	d.Display = s.progress(d.run, s.flags.json, s.flags.quiet)
	return d
}

// progress returns what shows the events of a run.
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

// Say shows one line about the run.
func (d display) Say(text string) { d.show(progress.Event{Type: progress.Message, Text: text}) }

// Pulled implements run.View.
func (d display) Pulled(instance string, p imagecache.Progress) {
	d.show(progress.Event{Type: progress.Pull, Instance: instance, Bytes: p.Current, BytesTotal: p.Total})
}

// Graded implements run.View.
func (d display) Graded(g grades.Grade) {
	d.show(progress.Event{Type: progress.Graded, Instance: g.InstanceID, Verdict: string(g.Verdict), Error: cmp.Or(g.Error, g.Why)})
}

// Progress implements run.View.
func (d display) Progress(ended bool, done int, spent float64) {
	e := d.run
	e.Time, e.Type, e.Done, e.Cost = time.Now(), progress.RunStart, done, spent
	sum := d.sum()
	lost := results.UnansweredOf(sum.Records)
	e.Lost, e.Held = lost.Lost, lost.Held
	if ended {
		e.Type, e.Elapsed = progress.RunEnd, e.Time.Sub(d.started)
		e.Outcomes = outcomes(sum)
		if d.json && sum.Host != nil { // else the command says so when it ends
			e.Error = sum.Host.Error()
		}
	}
	d.show(e)
}

// outcomes counts the instances that were asked for by outcome.
func outcomes(s run.Summary) map[string]int {
	counts := map[string]int{}
	last := results.Latest(s.Records)
	for _, id := range s.Asked {
		counts[string(cmp.Or(last[id].Outcome, vocab.OutcomePending))]++
	}
	return counts
}

// Log implements run.View: a person sees warnings and errors.
func (d display) Log() slog.Handler { return progress.LogHandler(d.show) }

// warnings returns a logger for what a person should know of that comes before a
// run begins, or of a command that has no display.
func (a *app) warnings() *slog.Logger {
	w := progress.OnNewLine(a.stderr)
	return slog.New(progress.LogHandler(func(e progress.Event) {
		fmt.Fprintln(w, "batch: warning: "+printable.Line(progress.Notice(e)))
	}))
}
