package images

import (
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/distribution/reference"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/retry"
)

// pace says how often and after which waits a pull is tried again.
type pace struct {
	tries    int           // downloads of an image if the registry or the network fails
	short    time.Duration // wait before the second download, doubled for each further one
	limits   int           // rate-limit answers after which a pull gives up
	limited  time.Duration // wait after a rate-limit answer that gives no time, doubled for each further one
	longest  time.Duration // the longest of these waits
	patience time.Duration // if a registry asks for a longer wait, the pull gives up
	stall    time.Duration // a download without any progress for this time has failed
}

var defaultPace = pace{
	tries: 3, short: time.Second,
	limits: 8, limited: 5 * time.Second, longest: 2 * time.Minute, patience: 15 * time.Minute, stall: 5 * time.Minute,
}

// waits starts at d and doubles up to longest. Each wait is shortened by a random part, at
// most half, so that pulls that wait for the same registry do not retry at the same time.
func waits(d, longest time.Duration, tries int) *retry.Tries {
	return retry.Policy{First: d * 3 / 4, Longest: longest * 3 / 4, Jitter: 1. / 3, Tries: tries}.Start()
}

// gate holds back the pulls from one registry after it has answered that there
// were too many.
type gate struct {
	mu    sync.Mutex
	until time.Time
	round int          // how often the gate was shut
	err   error        // the registry's last rate-limit answer
	waits *retry.Tries // since the last success
}

// pass waits until the gate is open and returns its round. If that would take longer than
// patience, pass returns the registry's answer at once.
func (g *gate) pass(ctx context.Context, patience time.Duration) (round int, err error) {
	for {
		g.mu.Lock()
		wait, round, err := time.Until(g.until), g.round, g.err
		g.mu.Unlock()
		if wait <= 0 {
			return round, nil
		}
		if wait > patience {
			return round, err
		}
		if err := retry.Sleep(ctx, wait); err != nil {
			return round, err
		}
	}
}

// shut shuts the gate after a rate-limit answer to a pull that passed in round. The
// answers to pulls of the same round count as one, but the gate stays shut for the longest
// time that any of them asks for. shut returns how long the gate will stay shut.
func (g *gate) shut(round int, err error) (left time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait, given := retryAfter(err.Error())
	wait += rand.N(wait/8 + 1) // never less than the registry asked for
	if round == g.round {
		g.round++
		if next, _ := g.waits.Next(0); !given {
			wait = next
		}
	}
	if until := time.Now().Add(wait); until.After(g.until) {
		g.until, g.err = until, err
	}
	return time.Until(g.until)
}

// open returns the round, and whether a pull may pass without a wait.
func (g *gate) open() (round int, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.round, !time.Now().Before(g.until)
}

// served records that the registry delivered an image to a pull that passed in round.
func (g *gate) served(round int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if round == g.round {
		g.waits.Restart()
	}
}

// The engine passes on a registry's message, but not the Retry-After header.
var retryText = lazy.Regexp(`(?i)(?:retry|try again)[- ](?:after|in):?\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|milliseconds?|s\b|sec|m\b|min|h\b|hours?)?`)

// retryAfter finds the time that a registry's message asks to wait. A number
// without a unit is in seconds, as in the header.
func retryAfter(text string) (time.Duration, bool) {
	m := retryText().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil || n > 1e6 {
		return 0, false
	}
	unit := time.Second
	switch u := strings.ToLower(m[2]); {
	case strings.HasPrefix(u, "ms"), strings.HasPrefix(u, "milli"):
		unit = time.Millisecond
	case strings.HasPrefix(u, "m"):
		unit = time.Minute
	case strings.HasPrefix(u, "h"):
		unit = time.Hour
	}
	return time.Duration(n * float64(unit)), true
}

// gate returns the gate of the registry at host.
func (s *Store) gate(host string) *gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gates[host] == nil {
		s.gates[host] = &gate{waits: waits(s.pace.limited, s.pace.longest, 0)}
	}
	return s.gates[host]
}

// enter waits until g is open and fewer than the allowed number of pulls are running. The
// caller releases the slot.
func (s *Store) enter(ctx context.Context, g *gate) (round int, err error) {
	for {
		if _, err := g.pass(ctx, s.pace.patience); err != nil {
			return 0, err
		}
		if err := s.slots.Acquire(ctx, 1); err != nil {
			return 0, err
		}
		if round, open := g.open(); open {
			return round, nil
		}
		s.slots.Release(1) // the gate was shut meanwhile: other pulls may use the slot while this one waits
	}
}

// downloadWithRetries downloads name, and waits first while its registry limits pulls. After
// a temporary failure it tries again soon, after a rate-limit answer when the registry's
// gate opens. The error is the last one, without blame.
func (s *Store) downloadWithRetries(ctx context.Context, name reference.Named, download func(context.Context) error) error {
	g, broken := s.gate(reference.Domain(name)), waits(s.pace.short, s.pace.longest, s.pace.tries)
	for limited := 0; ; {
		round, err := s.enter(ctx, g)
		if err != nil {
			return err
		}
		err = download(ctx)
		s.slots.Release(1)
		if err == nil {
			g.served(round)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		switch pullFailureOf(err, name.String()) {
		case pullLimited:
			wait := g.shut(round, err)
			if limited++; limited >= s.pace.limits {
				return err
			}
			s.engine.Log.Warn("the registry limits pulls; waiting", "image", name.String(), "for", wait.Round(time.Second), "answers", limited, "err", err)
		case pullBroken:
			wait, again := broken.Next(0)
			if !again {
				return err
			}
			s.engine.Log.Info("pull failed; retrying", "image", name.String(), "failures", broken.Failed, "err", err)
			if err := retry.Sleep(ctx, wait); err != nil {
				return err
			}
		default:
			return err
		}
	}
}
