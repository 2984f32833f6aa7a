package docker

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// listener keeps one connection to the engine on which nothing is to come: when it
// breaks, the engine was lost, even if nobody has called it meanwhile.
type listener struct{ begin sync.Once }

// listen lets the listener hear until the engine is closed.
func (e *Engine) listen() {
	e.listener.begin.Do(func() {
		e.health.asking.Go(func() {
			for e.health.life.Err() == nil {
				e.hear(e.health.life)
				_ = sleep(e.health.life, shortestPause)
				_ = e.health.ready(e.health.life) // what it says, the next call will meet
			}
		})
	})
}

func (e *Engine) hear(ctx context.Context) {
	messages, errs := e.api.Events(ctx, events.ListOptions{Filters: filters.NewArgs(filters.Arg("type", string(events.DaemonEventType)))})
	for {
		select {
		case <-messages:
		case err := <-errs:
			if ctx.Err() == nil && (errors.Is(err, io.EOF) || isLost(err)) {
				e.health.suspect(ErrOutage)
			} else {
				_ = sleep(ctx, longestPause) // an engine that has no events to tell
			}
			return
		}
	}
}
