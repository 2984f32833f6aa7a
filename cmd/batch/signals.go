package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// signals turns interrupts into the three ways to end a run.
type signals struct {
	drain   chan struct{} // closed by the first interrupt
	cancel  context.CancelFunc
	say     func(string)
	work    string // what the second interrupt does: "saving ... and removing ..."
	leave   func() // ends the process; not expected to return
	leaves  bool   // a SIGTERM ends the process at once, as the third interrupt does
	seen    int    // interrupts, a SIGTERM being the second
	drained atomic.Bool
}

// watchSignals returns a context that the second interrupt, or a SIGTERM or
// SIGHUP, cancels; work says what is done then. resume is the command that continues the run.
// stop must be called; it waits for the watching goroutine.
func watchSignals(ctx context.Context, say func(string), stderr io.Writer, work, resume string, leaves bool) (_ context.Context, s *signals, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	s = &signals{drain: make(chan struct{}), cancel: cancel, say: say, work: work, leaves: leaves, leave: func() {
		// The display may never get to show it.
		fmt.Fprintln(stderr, "\nbatch: interrupted; continue with "+resume+", which also removes the containers left behind")
		os.Exit(exitInterrupted)
	}}
	ignore := onSignals(s.handle)
	return ctx, s, func() {
		ignore()
		cancel()
	}
}

// onSignals calls handle for each interrupt, SIGTERM and SIGHUP. ignore must be called; it waits for
// handle.
func onSignals(handle func(os.Signal)) (ignore func()) {
	// A reader that goes away (| head) must not kill a run in the middle of paid work.
	signal.Ignore(syscall.SIGPIPE)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := range ch {
			handle(sig)
		}
	}()
	return func() {
		// A second one may come late, and must not end the process before it has reported.
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		signal.Stop(ch)
		close(ch)
		<-done
	}
}

// handle counts. A SIGTERM or SIGHUP often comes twice (to a process and to
// its group, from a shell and from the kernel), so that only a person's
// interrupt can be the third.
func (s *signals) handle(sig os.Signal) {
	switch {
	case sig == os.Interrupt:
		s.seen++
	case s.leaves && sig == syscall.SIGTERM:
		s.seen = 3
	case s.seen < 2:
		s.seen = 2
	default:
		return
	}
	if s.drained.CompareAndSwap(false, true) {
		close(s.drain)
	}
	switch s.seen {
	case 1:
		s.say("interrupted: running instances finish, no others start (interrupt again to stop them)")
	case 2:
		s.say("stopping: " + s.work + " (interrupt again to exit at once)")
		s.cancel()
	default:
		s.leave()
	}
}
