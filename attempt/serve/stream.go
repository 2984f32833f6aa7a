package serve

import (
	"context"
	"iter"
	"sync"

	"github.com/a2aproject/a2a-go/a2a"
)

// stream has the events of a task that is under way. Each listener reads at its own speed. The
// events stay in memory until the task has ended and all listeners have finished.
type stream struct {
	mu     sync.Mutex
	events []a2a.Event
	more   chan struct{} // closed when there are more events
	done   chan struct{} // closed at the end
}

func newStream() *stream { return &stream{more: make(chan struct{}), done: make(chan struct{})} }

func (s *stream) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

func (s *stream) send(events ...a2a.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
	s.wakeAll()
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.done)
	s.wakeAll()
}

func (s *stream) wakeAll() {
	close(s.more)
	s.more = make(chan struct{})
}

// all yields the events from number i on, until the stream ends, ctx ends or stopped is closed.
func (s *stream) all(ctx context.Context, stopped <-chan struct{}, i int) iter.Seq[a2a.Event] {
	return func(yield func(a2a.Event) bool) {
		for {
			s.mu.Lock()
			events, ended, more := s.events[i:len(s.events):len(s.events)], closed(s.done), s.more
			s.mu.Unlock()
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
			if i += len(events); ended {
				return
			}
			select {
			case <-more:
			case <-stopped:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}
