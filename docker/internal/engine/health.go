package engine

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
)

// ErrOutage is docker.ErrOutage, which says more.
var ErrOutage = errors.New("lost the docker engine")

const (
	defaultPatience = 5 * time.Minute
	shortestPause   = 100 * time.Millisecond // between two signs of life asked for
	longestPause    = 2 * time.Second
)

// health knows whether the engine answers. While it does not, one goroutine
// asks it for a sign of life until there is one, and whoever wants to start
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

// outage is one time of silence.
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

// close ends the asking and waits for it. Those who wait are let go.
func (h *health) close() {
	h.mu.Lock()
	h.end()
	h.mu.Unlock()
	h.asking.Wait()
}

// Go runs f until the connection is closed, which ends its context and waits for it.
func (h *health) Go(f func(context.Context)) { h.asking.Go(func() { f(h.life) }) }

// Suspect takes note of the error of a call. One that lost the engine, or got
// no answer in time, starts the asking; then it is not known what the engine did.
func (h *health) Suspect(err error) (unsure bool) {
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
	told := false
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := h.ping(h.life)
		if err == nil || h.life.Err() != nil {
			break
		}
		if !told {
			told = true
			h.log.Warn("the docker engine does not answer: waiting for it", "host", h.host, "at most", h.patience, "err", err)
		}
		_ = Sleep(h.life, pause)
	}
	if told && h.life.Err() == nil {
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

// calmAfter is how long an engine that is going down may still answer after the
// first of its connections broke.
const calmAfter = 5 * time.Second

// Sign returns the count of Losses, or -1 while it is not known whether the engine,
// which was lost a moment ago, goes on to answer.
func (h *health) Sign() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.outage != nil || h.losses > 0 && time.Since(h.lostAt) < calmAfter {
		return -1
	}
	return h.losses
}

// Ready returns at once while the engine answers. After a call has lost it, or
// ran into its time limit, Ready waits until it answers again; when that takes
// longer than the patience it is a Host fault.
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
			WithHint("start the engine (sudo systemctl start docker); the same command goes on from here")
	}
}

// Blame is the function Blame for an answer of e, which it also learns its health from.
func (e *Conn) Blame(err error, otherwise fault.Kind, op string) error {
	e.Suspect(err)
	return Blame(err, otherwise, op)
}

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
