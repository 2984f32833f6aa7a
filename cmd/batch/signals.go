package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// signals turns interrupts into the three ways to end a run.
type signals struct {
	drain     chan struct{} // closed by the first interrupt
	cancel    context.CancelFunc
	say       func(string)
	exit      func(code int)
	seen      int
	cancelled atomic.Bool
	drained   atomic.Bool
}

// watchSignals returns a context that the second interrupt, or a SIGTERM,
// cancels. stop must be called; it waits for the watching goroutine.
func watchSignals(ctx context.Context, say func(string)) (_ context.Context, s *signals, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	s = &signals{drain: make(chan struct{}), cancel: cancel, say: say, exit: os.Exit}
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := range ch {
			s.handle(sig)
		}
	}()
	return ctx, s, func() {
		signal.Stop(ch)
		close(ch)
		<-done
		cancel()
	}
}

func (s *signals) handle(sig os.Signal) {
	s.seen++
	if s.seen == 1 {
		close(s.drain)
		s.drained.Store(true)
	}
	if sig != os.Interrupt && s.seen == 1 {
		s.seen = 2 // a SIGTERM counts as the second interrupt
	}
	switch s.seen {
	case 1:
		s.say("interrupted: no new instances; the running ones go on (again to stop them)")
	case 2:
		s.say("stopping: saving what the running instances did and removing their containers (again to leave at once)")
		s.cancelled.Store(true)
		s.cancel()
	default:
		s.say("leaving; `batch run` again resumes, `batch doctor` finds containers left behind")
		s.exit(exitInterrupted)
	}
}
