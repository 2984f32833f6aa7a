package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"batch.example/batch/attempt/chat"
)

// watchTalk returns a context that a SIGTERM or SIGHUP cancels. An interrupt cancels it before
// the conversation has begun and after it has ended; during the conversation it is the
// person's, see [chat.Chat.Interrupt]. The third interrupt outside a conversation ends the process. stop
// must be called; it waits for the watching goroutine.
func (s *invocation) watchTalk(ctx context.Context, person *chat.Chat) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away must not kill paid work
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		defer close(done)
		outside := 0
		for sig := range ch {
			if sig == os.Interrupt && ctx.Err() == nil && person.Interrupt() {
				continue
			}
			cancel()
			if sig != os.Interrupt {
				continue
			}
			if outside++; outside > 2 {
				os.Exit(exitInterrupted)
			}
		}
	}()
	return ctx, func() {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		signal.Stop(ch)
		close(ch)
		<-done
		cancel()
	}
}
