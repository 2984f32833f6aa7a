package attempt

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime/debug"

	"batch.example/batch/agent"
	"batch.example/batch/dataset"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// Listener observes one attempt at an instance. Its methods are called one after the other,
// and the attempt waits for each, so they must be fast: they must not wait for a network or
// a person. It cannot fail the attempt: after a panic it is not called again.
type Listener interface {
	// Event is called with each event of the agent, once the journal has it: see
	// [agent.Listener].
	Event(agent.Event)

	// End is called last, once, however the attempt ended: after its result was stored or
	// could not be stored. An attempt that was interrupted has the outcome pending.
	End(results.Record)
}

// Listen returns a Listener for an attempt that begins, or nil. An attempt has the same
// number when it is resumed; the number is 0 if the attempt's files could not be opened. It
// is called from many goroutines at the same time.
type Listen func(in dataset.Instance, attempt int) Listener

// listen returns the caller's listener of an attempt. [Solver.ended] takes it.
func (s *Solver) listen(in dataset.Instance, attempt int, log *slog.Logger) agent.Listener {
	if s.c.Listen == nil {
		return func(agent.Event) {}
	}
	g := &guarded{log: log}
	g.call(func() { g.Listener = s.c.Listen(in, attempt) })
	s.listeners.Store(in.ID, g)
	return g.Event
}

// ended calls End of an attempt's listener. An instance has one attempt at a time.
func (s *Solver) ended(r results.Record) {
	if g, ok := s.listeners.LoadAndDelete(r.InstanceID); ok {
		g.(*guarded).End(r)
	}
}

// guarded is a listener that cannot fail its attempt. A nil Listener is not called.
type guarded struct {
	Listener
	log *slog.Logger
}

func (g *guarded) call(method func()) {
	defer func() {
		if v := recover(); v != nil {
			g.Listener = nil
			g.log.Error("a listener panicked and is not called again in this attempt", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
	}()
	method()
}

// Event implements Listener.
func (g *guarded) Event(e agent.Event) {
	if g.Listener != nil {
		g.call(func() { g.Listener.Event(e) })
	}
}

// End implements Listener.
func (g *guarded) End(r results.Record) {
	if g.Listener != nil {
		g.call(func() { g.Listener.End(r) })
	}
}

// progress reports the agent's progress to the pool.
func (t *attempt) progress(e agent.Event) {
	if phase := e.Phase(); phase != "" {
		t.now(vocab.Event{Phase: phase, Step: e.Step, Cost: e.Cost, Doing: cmp.Or(e.Command, e.Tool)})
	}
	if next := e.Repeat; next != nil {
		t.runner.Report(vocab.Event{
			Type: vocab.EventCallRetry, Step: e.Step, Cost: e.Cost,
			Try: next.Try, Tries: next.Tries, Wait: next.Wait, RateLimited: next.RateLimited, Error: next.Reason,
		})
	}
}
