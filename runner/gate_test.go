package runner_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/runner"
)

// minutes is a solver that takes a minute for each attempt. It records how many ran at once
// since most was last reset.
type minutes struct{ running, most atomic.Int32 }

func (m *minutes) Do(_ context.Context, a attempt) (*record, error) {
	now := m.running.Add(1)
	for seen := m.most.Load(); now > seen && !m.most.CompareAndSwap(seen, now); seen = m.most.Load() {
	}
	time.Sleep(time.Minute)
	m.running.Add(-1)
	return submitted(a.Job), nil
}

func TestAClosedGateLetsOneInstanceRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s minutes
		var m memory
		start := time.Now()
		sum, err := run(t.Context(), runner.Config{
			Width: runner.NewWidth(4), Gate: func() string { return "memory is short" },
		}, instances(5), &s, &m)
		if err != nil || sum.Final != 5 || s.most.Load() != 1 {
			t.Errorf("got %+v, %v, %d at once; want final 5, load 1, no error", sum, err, s.most.Load())
		}
		if d := time.Since(start); d < 5*time.Minute || d > 5*time.Minute+10*time.Second {
			t.Errorf("five instances of a minute, one at a time, took %v", d)
		}
	})
}

func TestAnOpenedGateAdmitsWaitingInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s minutes
		var m memory
		var log strings.Builder
		start := time.Now()
		sum, err := run(t.Context(), runner.Config{
			Width: runner.NewWidth(4), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
			Gate: func() string {
				if time.Since(start) < 90*time.Second {
					return "memory is short"
				}
				return ""
			},
		}, instances(8), &s, &m)
		if err != nil || sum.Final != 8 || s.most.Load() != 4 {
			t.Errorf("got %+v, %v, %d at once; want final 8, load 4, no error", sum, err, s.most.Load())
		}
		if strings.Count(log.String(), "memory is short") != 2 || strings.Count(log.String(), "again") != 2 {
			t.Errorf("want one log line for each wait, got:\n%s", &log)
		}
	})
}

func TestAnInstanceWaitingAtAGateEndsWhenTheRunDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s minutes
		var m memory
		drain := make(chan struct{})
		time.AfterFunc(10*time.Second, func() { close(drain) })
		sum, err := run(t.Context(), runner.Config{
			Width: runner.NewWidth(4), Drain: drain, Gate: func() string { return "memory is short" },
		}, instances(6), &s, &m)
		if err != nil || sum.Final != 1 || sum.Pending != 5 {
			t.Errorf("got %+v, %v; want final 1, pending 5, no error", sum, err)
		}
	})
}

func TestAnOutageDoesNotCountAsATry(t *testing.T) {
	away := errors.New("the engine is away")
	outage := func(err error) bool { return errors.Is(err, away) }
	for _, tc := range []struct {
		name            string
		outages         int // then the attempts fail by themselves
		tries, attempts int
		waited          time.Duration
	}{
		{"none", 0, 3, 3, 3 * time.Second},
		{"some", 4, 3, 7, 3 * time.Second},
		{"one try", 4, 1, 5, 0},
		{"without end", 1000, 2, 12, time.Second}, // ten outages do not count, the eleventh is a try
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				made := 0
				s := solve(func(context.Context, attempt) (*record, error) {
					mu.Lock()
					defer mu.Unlock()
					made++
					if made <= tc.outages {
						return nil, fault.New(fault.Transient, "running a command", away)
					}
					return nil, fault.New(fault.Transient, "running a command", errors.New("broken"))
				})
				var m memory
				start := time.Now()
				sum, err := run(t.Context(), runner.Config{Retries: runner.Retries{fault.Transient.String(): tc.tries - 1}, Backoff: time.Second, Outage: outage}, instances(1), s, &m)
				if err != nil || sum.Failed != 1 || made != tc.attempts || time.Since(start) != tc.waited {
					t.Errorf("%+v, %v: %d attempts in %v, want %d in %v", sum, err, made, time.Since(start), tc.attempts, tc.waited)
				}
			})
		})
	}
}

func TestAGateIsNotAskedWhenNoInstanceIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s minutes
		var m memory
		var asked atomic.Int32
		sum, err := run(t.Context(), runner.Config{
			Width: runner.NewWidth(4), Gate: func() string { asked.Add(1); return "" },
		}, instances(3), &s, &m)
		if err != nil || sum.Final != 3 || asked.Load() != 2 { // the first instance passes without asking
			t.Errorf("got %+v, %v, the gate asked %d times; want 3 final, 2 times", sum, err, asked.Load())
		}
	})
}

func TestPoolsThatShareAWidth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s minutes
		width := runner.NewWidth(3)
		start := time.Now()
		var pools sync.WaitGroup
		for range 2 {
			pools.Go(func() {
				var m memory
				if sum, err := run(t.Context(), runner.Config{Width: width}, instances(6), &s, &m); err != nil || sum.Final != 6 {
					t.Errorf("got %+v, %v; want 6 results", sum, err)
				}
			})
		}
		pools.Wait()
		if most, took := s.most.Load(), time.Since(start); most != 3 || took != 4*time.Minute {
			t.Errorf("%d ran at once, in %v; want 3, in 4 minutes", most, took)
		}
	})
}
