package images

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/distribution/reference"

	"batch.example/batch/docker/internal/engine"
)

// pace says how patient pulls are.
type pace struct {
	tries    int           // downloads of an image whose registry or network fails
	short    time.Duration // before the second of them, doubled for each further one
	limits   int           // rate-limit answers after which a pull gives up
	limited  time.Duration // wait after one that names no time, doubled for each further one
	longest  time.Duration // of such waits
	patience time.Duration // a registry that asks for more is not waited for
	stall    time.Duration // a download of which nothing new is heard for so long has failed
}

var defaultPace = pace{
	tries: 3, short: time.Second,
	limits: 8, limited: 5 * time.Second, longest: 2 * time.Minute, patience: 15 * time.Minute, stall: 5 * time.Minute,
}

// waits are d for the first time, doubled each time up to longest, and less by up to
// half, which keeps those who wait for the same thing from coming back together.
func waits(d, longest time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: d * 3 / 4, MaxInterval: longest * 3 / 4, Multiplier: 2, RandomizationFactor: 1. / 3,
	}
}

// gate holds back the pulls from one registry after it has said that there
// were too many.
type gate struct {
	mu    sync.Mutex
	until time.Time
	round int // counts the times it was shut
	err   error
	waits *backoff.ExponentialBackOff // since the last success
}

// pass waits until the gate is open and returns its round. It returns the
// registry's answer at once when that would take longer than patience.
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
		if err := engine.Sleep(ctx, wait); err != nil {
			return round, err
		}
	}
}

// shut closes the gate for a rate-limit answer to a pull that passed in round.
// Answers to pulls that passed together count as one, but the longest time
// that any of them asks for holds. It returns how long the gate stays closed.
func (g *gate) shut(round int, err error) (left time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait, said := retryAfter(err.Error())
	wait += rand.N(wait/8 + 1) // never less than it asked for
	if round == g.round {
		g.round++
		if next := g.waits.NextBackOff(); !said {
			wait = next
		}
	}
	if until := time.Now().Add(wait); until.After(g.until) {
		g.until, g.err = until, err
	}
	return time.Until(g.until)
}

// open returns the round when nothing has to be waited for.
func (g *gate) open() (round int, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.round, !time.Now().Before(g.until)
}

// served notes that the registry gave an image to a pull that passed in round.
func (g *gate) served(round int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if round == g.round {
		g.waits.Reset()
	}
}

// The engine hands a registry's message on, but none of its header.
var retryText = regexp.MustCompile(`(?i)(?:retry|try again)[- ](?:after|in):?\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|milliseconds?|s\b|sec|m\b|min|h\b|hours?)?`)

// retryAfter finds the time that a registry's message asks to wait. A number
// without a unit is in seconds, as in the header.
func retryAfter(text string) (time.Duration, bool) {
	m := retryText.FindStringSubmatch(text)
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
		s.gates[host] = &gate{waits: waits(s.pace.limited, s.pace.longest)}
	}
	return s.gates[host]
}

// enter waits until the registry behind g may be asked and one of the parallel
// pulls has ended. The caller releases the slot.
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
		s.slots.Release(1) // it was shut meanwhile, and others need no part in the wait
	}
}

// persist downloads name, waiting first while its registry limits pulls. A
// failure that may pass is tried again soon, a rate-limit answer when the
// registry's gate opens. The error is the last one, without blame.
func (s *Store) persist(ctx context.Context, name reference.Named, download func(context.Context) error) error {
	g, again := s.gate(reference.Domain(name)), waits(s.pace.short, s.pace.longest)
	for failed, limited := 0, 0; ; {
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
		switch whyPull(err, name.String()) {
		case pullLimited:
			wait := g.shut(round, err)
			if limited++; limited >= s.pace.limits {
				return err
			}
			s.engine.Log.Warn("the registry limits pulls; waiting", "image", name.String(), "for", wait.Round(time.Second), "answers", limited, "err", err)
		case pullBroken:
			if failed++; failed >= s.pace.tries {
				return err
			}
			s.engine.Log.Info("pull failed; trying again", "image", name.String(), "failures", failed, "err", err)
			if err := engine.Sleep(ctx, again.NextBackOff()); err != nil {
				return err
			}
		default:
			return err
		}
	}
}
