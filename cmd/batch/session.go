package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/term"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/progress"
	"batch.example/batch/run"
	"batch.example/batch/run/rundir"
	"batch.example/batch/vocab"
)

// job is work in a run directory: a run, a sweep, grading or selecting.
type job interface {
	Work(ctx context.Context, drain <-chan struct{}, show func(vocab.Event)) error
	Pending() int  // how many instances Work left, because it was interrupted
	Cost() float64 // US dollars so far
	Close() error
}

// session is how a command works on a job and ends.
type session struct {
	*app
	about       vocab.Event // known before the job begins
	started     time.Time
	json, quiet bool   // see runFlags
	saving      string // what a second interrupt does
	again       string // the command that continues the job
	leaves      bool   // see watchSignals
	apart       detaching
}

// work does the rest of a job, and shows it.
func (s session) work(ctx context.Context, j job) error {
	d := s.newDisplay(j)
	defer func() { // a display that cannot be written to must not fail the work
		if err := ignoreClosed(d.Close()); err != nil && s.json {
			s.tell(fmt.Sprintf("not all events were written: %v", err))
		}
	}()
	ctx, sig, stop := watchSignals(ctx, rundir.NewView(d.show).Say, s.stderr, s.saving, s.again, s.leaves)
	defer stop()
	err := j.Work(ctx, sig.drain, d.show)
	steered, _ := j.(steered)
	drained := sig.drained.Load() || steered != nil && steered.Drained()
	if err == nil && drained && j.Pending() > 0 {
		err = errInterrupted
	}
	if steered != nil {
		s.record(steered, err)
	}
	return err
}

// steered is a job that other programs watch and change: see package control.
type steered interface {
	Drained() bool   // one of them ended it
	Unfinished() int // how many instances have no result
	Conclude(pid, code int) error
}

// record puts on record the exit code with which the command will end, as long as the directory
// is locked.
func (s session) record(j steered, ended error) {
	code := exitOK
	if ended != nil {
		code = exitCode(ended)
	} else if j.Unfinished() > 0 {
		code = exitIncomplete
	}
	if err := j.Conclude(os.Getpid(), code); err != nil {
		s.tell(fmt.Sprintf("the exit code is not on record: %v", err))
	}
}

// conclude closes a job, prints with table how it ended, and chooses how the command ends.
// Missing is how many instances have no result.
func (s session) conclude(j job, ended error, table func(out io.Writer) (missing int, err error)) error {
	missing, err := 0, j.Close()
	if err == nil {
		missing, err = table(s.resultOut(s.json))
	}
	// A closed output has a reader who has seen enough; the work is on disk.
	if err = s.interruption(s.also(ended, ignoreClosed(err))); err != nil {
		return err
	}
	if missing > 0 {
		return errIncomplete
	}
	return nil
}

// resultOut returns where a result is printed: standard error if events are on standard output.
func (a *app) resultOut(json bool) io.Writer {
	if json {
		return a.stderr
	}
	return a.stdout
}

// interruption returns err, or errInterrupted for a cancellation, after it has named the command
// that continues the job.
func (s session) interruption(err error) error {
	if !interrupted(err) {
		return err
	}
	s.tell("interrupted; continue with " + s.again)
	return errInterrupted
}

func interrupted(err error) bool { return errors.Is(err, errInterrupted) || fault.Canceled(err) }

// newDisplay returns the display of a job, chosen by the flags and the kind of stderr.
func (s session) newDisplay(j job) display {
	about := s.about
	about.Version, about.PID = run.Version(), os.Getpid()
	if abs, err := filepath.Abs(about.Directory); err == nil {
		about.Directory = abs
	}
	return display{
		Display: s.progress(about, s.json, s.quiet), started: s.started, mask: s.mask, json: s.json, about: about, cost: j.Cost,
		begun: sync.OnceFunc(func() {
			if err := s.apart.leaveTerminal(s.about.Directory); err != nil {
				s.complain(err)
			}
		}),
	}
}

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
	return progress.NewTerminal(f, size, run.Total, run.Workers)
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
