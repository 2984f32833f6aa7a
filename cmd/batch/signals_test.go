package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// A SIGTERM often comes twice, and the second one when the run has ended already.
func TestALateSIGTERMDoesNotEndTheProcess(t *testing.T) {
	t.Cleanup(func() { signal.Reset(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE) })
	ctx, s, stop := watchSignals(t.Context(), func(string) {}, io.Discard, "", "", false)
	for range 2 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	<-ctx.Done()
	<-s.drain
	stop()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if err := syscall.Kill(os.Getpid(), sig); err != nil { // it ends the test unless it is ignored
			t.Fatal(err)
		}
	}
}

// Kubernetes evicts a runner by a SIGTERM, and its pods stay for the next one.
func TestAnEvictedRunnerLeavesItsContainers(t *testing.T) {
	left := false
	s := &signals{
		drain: make(chan struct{}), leaves: true, leave: func() { left = true }, say: func(string) {},
		cancel: func() { t.Error("the running instances are stopped, which removes their containers") },
	}
	if s.handle(syscall.SIGTERM); !left {
		t.Error("the process continues")
	}
}
