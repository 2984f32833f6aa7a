package engine

import (
	"context"
	"errors"
	"io"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// Listen keeps one connection to the engine, until Close, on which nothing is to come:
// when it breaks, the engine was lost, even if nobody has called it meanwhile.
func (e *Conn) Listen() {
	e.listening.Do(func() {
		e.Go(func(ctx context.Context) {
			for ctx.Err() == nil {
				e.hear(ctx)
				_ = Sleep(ctx, shortestPause)
				_ = e.Ready(ctx) // what it says, the next call will meet
			}
		})
	})
}

func (e *Conn) hear(ctx context.Context) {
	messages, errs := e.API.Events(ctx, events.ListOptions{Filters: filters.NewArgs(filters.Arg("type", string(events.DaemonEventType)))})
	for {
		select {
		case <-messages:
		case err := <-errs:
			if ctx.Err() == nil && (errors.Is(err, io.EOF) || IsLost(err)) {
				e.Suspect(ErrOutage)
			} else {
				_ = Sleep(ctx, longestPause) // an engine that has no events to tell
			}
			return
		}
	}
}
