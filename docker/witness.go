package docker

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
)

// witness hears what the engine tells of batch's containers, so that one that
// ended by what ran in it is told apart from one that somebody ended through the
// engine. The engine keeps only its latest events, so they are heard as they come.
type witness struct {
	begin   sync.Once
	mu      sync.Mutex
	endings map[string]ending // by container id, since its last start
	news    chan struct{}     // closed at the next event
}

// ending is what befell a container.
type ending struct {
	asked bool // somebody had the engine kill or stop it
	died  bool
}

func newWitness() *witness {
	return &witness{endings: map[string]ending{}, news: make(chan struct{})}
}

// listen lets the witness hear until the engine is closed. When its connection
// breaks, the engine was lost, even if nobody has called it meanwhile.
func (e *Engine) listen() {
	e.witness.begin.Do(func() {
		e.health.asking.Go(func() {
			for e.health.life.Err() == nil {
				e.witness.hear(e.health.life, e)
				_ = sleep(e.health.life, shortestPause)
				_ = e.health.ready(e.health.life) // what it says, the next call will meet
			}
		})
	})
}

// hear takes events in until the connection ends. An engine that was restarted
// has forgotten those before; of one that was not, they come again, in order.
func (w *witness) hear(ctx context.Context, e *Engine) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := filters.NewArgs(filters.Arg("type", string(events.ContainerEventType)), filters.Arg("label", LabelOwner))
	for _, a := range []events.Action{events.ActionStart, events.ActionKill, events.ActionStop, events.ActionDie, events.ActionDestroy} {
		f.Add("event", string(a))
	}
	messages, errs := e.api.Events(ctx, events.ListOptions{Since: seconds(time.Unix(1, 0)), Filters: f})
	for {
		select {
		case m := <-messages:
			w.take(m)
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

func (w *witness) take(m events.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.endings[m.Actor.ID]
	switch m.Action {
	case events.ActionStart:
		f = ending{}
	case events.ActionKill, events.ActionStop:
		f.asked = true
	case events.ActionDie:
		f.died = true
	}
	w.endings[m.Actor.ID] = f
	if m.Action == events.ActionDestroy || f == (ending{}) {
		delete(w.endings, m.Actor.ID)
	}
	close(w.news)
	w.news = make(chan struct{})
}

// endedItself reports whether the container, which has ended, did so without
// anybody asking the engine for it. It waits until the end is heard of; one that
// nothing is heard of did not.
func (w *witness) endedItself(ctx context.Context, id string) bool {
	for {
		w.mu.Lock()
		f, news := w.endings[id], w.news
		w.mu.Unlock()
		if f.died {
			return !f.asked // an engine tells of a kill before the end that it brings
		}
		select {
		case <-ctx.Done():
			return false
		case <-news:
		}
	}
}
