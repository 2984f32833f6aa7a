package runner_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// steered is a Worker with jobs that make one paid call after a second, and end after another one.
type steered struct {
	mu   sync.Mutex
	runs []string
}

func (s *steered) Name(job string) string { return job }

func (s *steered) Do(ctx context.Context, a runner.Attempt[string]) (string, error) {
	s.mu.Lock()
	s.runs = append(s.runs, a.Job)
	s.mu.Unlock()
	for range 2 {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		if call, err := a.Reserve(ctx); err != nil {
			return "", err
		} else if call != nil {
			call.Settle(1)
		}
	}
	return a.Job, nil
}

func (s *steered) Save(_ context.Context, _, _ string, err error) (runner.Ending, error) {
	return runner.EndingOf(err), nil
}

func TestAPauseHoldsJobsAndCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pause runner.Pause
		began := time.Now()
		held := make(chan bool, 1)
		time.AfterFunc(500*time.Millisecond, func() { pause.Set(true) })
		time.AfterFunc(time.Hour, func() { pause.Set(false) })
		w := &steered{}
		sum, err := runner.Run(t.Context(), runner.Config{Pause: &pause, Width: runner.NewWidth(1), OnEvent: func(e vocab.Event) {
			if e.Phase == vocab.PhasePaused {
				held <- true
			}
		}}, runner.NewRoster([]string{"a", "b"}), w)
		if err != nil || sum.Final != 2 {
			t.Fatalf("summary %+v, error %v", sum, err)
		}
		if took := time.Since(began); took < time.Hour || took > time.Hour+4*time.Second {
			t.Errorf("took %v, want the pause of an hour and the work after it", took)
		}
		if !<-held {
			t.Error("no event says that a job is held")
		}
	})
}

// slow is a Worker whose jobs make one call of a second.
type slow struct {
	steered
	calls []time.Time // guarded by mu
}

func (s *slow) Do(ctx context.Context, a runner.Attempt[string]) (string, error) {
	call, err := a.Reserve(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.calls = append(s.calls, time.Now())
	s.mu.Unlock()
	time.Sleep(time.Second)
	call.Settle(1)
	return a.Job, nil
}

// Before a cost is known, one call is made at a time: the others wait for money.
func TestAPauseHoldsCallsThatWaitForMoney(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pause runner.Pause
		began := time.Now()
		time.AfterFunc(500*time.Millisecond, func() { pause.Set(true) })
		time.AfterFunc(time.Hour, func() { pause.Set(false) })
		w := &slow{}
		sum, err := runner.Run(t.Context(), runner.Config{
			Pause: &pause, Width: runner.NewWidth(3), Budget: runner.NewBudget(100, 0, 0),
		}, runner.NewRoster([]string{"a", "b", "c"}), w)
		if err != nil || sum.Final != 3 || len(w.calls) != 3 {
			t.Fatalf("summary %+v, error %v", sum, err)
		}
		for _, at := range w.calls[1:] {
			if at.Sub(began) < time.Hour {
				t.Errorf("a call began %v after the beginning, during the pause", at.Sub(began))
			}
		}
	})
}

func TestADrainOrAnEndReachesPausedJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pause runner.Pause
		pause.Set(true)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		sum, err := runner.Run(ctx, runner.Config{Pause: &pause}, runner.NewRoster([]string{"a", "b"}), &steered{})
		if err != nil || sum.Pending != 2 {
			t.Errorf("summary %+v, error %v; want 2 pending", sum, err)
		}
	})
}

func TestJobsAreHaltedAndRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var halts runner.Halts
		jobs := runner.NewRoster([]string{"a", "b", "c"})
		w := &steered{}
		halts.Halt("c") // never begins
		time.AfterFunc(500*time.Millisecond, func() {
			if at, _ := halts.At("a"); at != runner.Underway {
				t.Errorf("a is %v, want underway", at)
			}
			halts.Halt("a")
			halts.Release("a", func() bool { return jobs.Add("a") }) // before it has ended: it must not run twice at once
		})
		time.AfterFunc(2*time.Second, func() {
			if at, halted := halts.At("c"); at == runner.Underway || !halted {
				t.Errorf("c is %v, halted %v", at, halted)
			}
			halts.Halt("b")
		})
		sum, err := runner.Run(t.Context(), runner.Config{Halts: &halts}, jobs, w)
		if err != nil || sum.Final != 1 || sum.Pending != 2 {
			t.Errorf("summary %+v, error %v; want 1 final, 2 pending", sum, err)
		}
		if want := []string{"a", "b", "a"}; !slices.Equal(w.runs, want) {
			t.Errorf("attempts at %v, want %v", w.runs, want)
		}
		if jobs.Add("a") {
			t.Error("a job was added after all had ended")
		}
	})
}

// A job that is in its source is not added to it: it would run twice.
func TestAQueuedJobIsNotAddedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var halts runner.Halts
		jobs := runner.NewRoster([]string{"a", "b"})
		halts.Queue("a", "b")
		w := &steered{}
		again := func() bool { return jobs.Add("b") }
		time.AfterFunc(500*time.Millisecond, func() {
			halts.Halt("b")
			if !halts.Release("b", again) || !halts.Queued("b") || halts.Queued("a") {
				t.Errorf("queued: a %v, b %v", halts.Queued("a"), halts.Queued("b"))
			}
		})
		time.AfterFunc(2500*time.Millisecond, func() { // b runs
			halts.Halt("b")
			halts.Release("b", again)
			halts.Release("b", again)
		})
		sum, err := runner.Run(t.Context(), runner.Config{Halts: &halts}, jobs, w)
		if want := []string{"a", "b", "b"}; err != nil || sum.Final != 2 || !slices.Equal(w.runs, want) {
			t.Errorf("summary %+v, error %v, attempts at %v, want %v", sum, err, w.runs, want)
		}
		if halts.Release("b", again) || halts.Queued("b") {
			t.Error("a job was added after all had ended")
		}
	})
}

// After the budget was reached, no job begins, so none may be added.
func TestARosterEndsWithAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := runner.NewBudget(1, 0, 0)
		jobs := runner.NewRoster([]string{"a", "b"})
		time.AfterFunc(1500*time.Millisecond, func() {
			if !jobs.Hold() || !jobs.Add("c") {
				t.Error("a job was not added while one runs")
			}
			jobs.Release()
		})
		time.AfterFunc(2500*time.Millisecond, func() {
			b.SetLimit(0) // too late
			if jobs.Hold() || jobs.Add("d") {
				t.Error("a job was added after the budget was reached")
			}
		})
		w := &late{}
		sum, err := runner.Run(t.Context(), runner.Config{Budget: b, Width: runner.NewWidth(2)}, jobs, w)
		if err != nil || !sum.Budget || sum.Pending != 3 {
			t.Errorf("summary %+v, error %v; want 3 pending", sum, err)
		}
	})
}

// late is like steered, and its jobs end a second later.
type late struct{ steered }

func (s *late) Do(ctx context.Context, a runner.Attempt[string]) (string, error) {
	defer time.Sleep(time.Second)
	return s.steered.Do(ctx, a)
}

func TestABudgetIsRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := runner.NewBudget(3, 0, 0)
		time.AfterFunc(1500*time.Millisecond, func() { b.SetLimit(0) })
		sum, err := runner.Run(t.Context(), runner.Config{Budget: b}, runner.NewRoster([]string{"a", "b"}), &steered{})
		if err != nil || sum.Final != 2 || b.Limit() != 0 {
			t.Errorf("summary %+v, error %v", sum, err)
		}
	})
}
