package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"

	"batch.example/batch/fault"
	"batch.example/batch/internal/retry"
	"batch.example/batch/sandbox/engine"
)

// ErrOutage is an [engine.ErrOutage].
var ErrOutage error = lost{}

type lost struct{}

func (lost) Error() string { return "lost the docker engine" }

// Unwrap makes errors.Is(err, engine.ErrOutage) true.
func (lost) Unwrap() error { return engine.ErrOutage }

const (
	defaultPatience = 5 * time.Minute
	shortestPause   = 100 * time.Millisecond // between two pings
	longestPause    = 2 * time.Second
)

// health tracks whether the engine answers. While it does not, one goroutine
// pings it until it answers, and a caller that wants to start
// something waits for that goroutine instead of failing.
type health struct {
	ping     func(context.Context) error
	host     string
	patience time.Duration
	log      *slog.Logger
	life     context.Context // of the goroutine
	end      context.CancelFunc

	mu     sync.Mutex
	outage *outage // nil while the engine answers
	losses int     // calls that lost the engine so far
	lostAt time.Time
	asking sync.WaitGroup
}

// outage is one period in which the engine does not answer.
type outage struct {
	since time.Time
	over  chan struct{} // closed when the engine answers, or at close
}

func newHealth(ping func(context.Context) error, host string, patience time.Duration, log *slog.Logger) *health {
	if patience <= 0 {
		patience = defaultPatience
	}
	h := &health{ping: ping, host: host, patience: patience, log: log}
	h.life, h.end = context.WithCancel(context.Background())
	return h
}

// close stops the pings and waits for them to end. Waiting callers return.
func (h *health) close() {
	h.mu.Lock()
	h.end()
	h.mu.Unlock()
	h.asking.Wait()
}

// Go runs f in a goroutine. Close cancels its context and waits for it.
func (h *health) Go(f func(context.Context)) { h.asking.Go(func() { f(h.life) }) }

// NoteError records the error of a call. If the call lost the engine, or got
// no answer in time, NoteError starts the pings and returns true: then it is not known
// what the engine did.
func (h *health) NoteError(err error) (unsure bool) {
	lost := IsLost(err)
	if !lost && !errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if lost {
		h.losses++
		h.lostAt = time.Now()
	}
	if h.outage != nil || h.life.Err() != nil {
		return true
	}
	o := &outage{since: time.Now(), over: make(chan struct{})}
	h.outage = o
	h.asking.Go(func() { h.ask(o) })
	return true
}

// IsLost reports whether err says that the connection to the engine could not
// be made or broke.
func IsLost(err error) bool {
	if client.IsErrConnectionFailed(err) || errors.Is(err, ErrOutage) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && !op.Timeout()
}

// ask is the goroutine of one outage.
func (h *health) ask(o *outage) {
	warned := false
	tries := retry.Policy{First: shortestPause, Longest: longestPause}.Start()
	for again := true; again; again = tries.Wait(h.life) {
		err := h.ping(h.life)
		if err == nil || h.life.Err() != nil {
			break
		}
		if !warned {
			warned = true
			h.log.Warn("the docker engine does not answer: waiting for it", "host", h.host, "at most", h.patience, "err", err)
		}
	}
	if warned && h.life.Err() == nil {
		h.log.Warn("the docker engine answers again", "host", h.host, "after", time.Since(o.since).Round(time.Millisecond))
	}
	h.mu.Lock()
	h.outage = nil
	h.mu.Unlock()
	close(o.over)
}

// Losses returns how many calls have lost the engine so far.
func (h *health) Losses() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.losses
}

// settleTime is how long an engine that shuts down may still answer after the
// first of its connections broke.
const settleTime = 5 * time.Second

// StableLosses returns the count of Losses, or -1 while it is not known whether an engine
// that was lost a moment ago will keep answering.
func (h *health) StableLosses() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.outage != nil || h.losses > 0 && time.Since(h.lostAt) < settleTime {
		return -1
	}
	return h.losses
}

// Ready returns at once while the engine answers. After a call has lost it, or
// exceeded its time limit, Ready waits until it answers again; if that takes
// longer than the patience, Ready returns a Host fault.
func (h *health) Ready(ctx context.Context) error {
	h.mu.Lock()
	o := h.outage
	h.mu.Unlock()
	if o == nil {
		return nil
	}
	patience := time.NewTimer(time.Until(o.since.Add(h.patience)))
	defer patience.Stop()
	select {
	case <-o.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-patience.C:
		return fault.New(fault.Host, "waiting for the docker engine at "+h.host, fmt.Errorf("no answer for %v", h.patience)).
			WithHint("start the engine (sudo systemctl start docker), then run the same command again to resume")
	}
}

// Blame calls NoteError and then the function Blame.
func (e *Conn) Blame(err error, otherwise fault.Kind, op string) error {
	e.NoteError(err)
	return Blame(err, otherwise, op)
}

// WatchConnection keeps one idle connection to the engine until Close. When it breaks,
// the engine was lost, even if there was no other call meanwhile.
func (e *Conn) WatchConnection() {
	e.listening.Do(func() {
		e.Go(func(ctx context.Context) {
			for ctx.Err() == nil {
				e.watchEvents(ctx)
				_ = retry.Sleep(ctx, shortestPause)
				_ = e.Ready(ctx) // the next call returns its error
			}
		})
	})
}

func (e *Conn) watchEvents(ctx context.Context) {
	messages, errs := e.API.Events(ctx, events.ListOptions{Filters: filters.NewArgs(filters.Arg("type", string(events.DaemonEventType)))})
	for {
		select {
		case <-messages:
		case err := <-errs:
			if ctx.Err() == nil && (errors.Is(err, io.EOF) || IsLost(err)) {
				e.NoteError(ErrOutage)
			} else {
				_ = retry.Sleep(ctx, longestPause) // an engine that does not report events
			}
			return
		}
	}
}
