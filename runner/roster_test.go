package runner_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/runner"
)

func TestJobsMayArriveLater(t *testing.T) {
	for name, end := range map[string]func(drain chan struct{}, cancel func(), jobs *runner.Roster[string]){
		"until no more will":   func(_ chan struct{}, _ func(), jobs *runner.Roster[string]) { jobs.Release() },
		"until the run drains": func(drain chan struct{}, _ func(), _ *runner.Roster[string]) { close(drain) },
		"until it is canceled": func(_ chan struct{}, cancel func(), _ *runner.Roster[string]) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				jobs := runner.NewRoster[string](nil)
				jobs.Hold()
				drain := make(chan struct{})
				go func() {
					for i := range 3 {
						time.Sleep(time.Hour)
						jobs.Add(fmt.Sprint(i))
					}
					time.Sleep(time.Hour)
					end(drain, cancel, jobs)
				}()
				var m memory
				s := solve(func(_ context.Context, a attempt) (*record, error) { return submitted(a.Job), nil })
				start := time.Now()
				got, err := runner.Run(ctx, runner.Config{Width: runner.NewWidth(2), Drain: drain}, jobs, worker{s, &m})
				if err != nil || got.Final != 3 || got.Pending+got.Failed != 0 || time.Since(start) != 4*time.Hour {
					t.Errorf("got %+v, %v after %v; want final 3, none pending or failed, after %v", got, err, time.Since(start), 4*time.Hour)
				}
				if <-jobs.Over(); jobs.Add("late") {
					t.Error("a job was added after the run")
				}
			})
		})
	}
}

// A fault of all instances also ends the wait for a job.
func TestAHostFaultEndsTheWaitForAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := runner.NewRoster([]string{"a"})
		q.Hold()
		s := solve(func(context.Context, attempt) (*record, error) {
			time.Sleep(time.Minute)
			return nil, fault.Newf(fault.Host, "disk full")
		})
		got, err := runner.Run(t.Context(), runner.Config{Width: runner.NewWidth(2)}, q, worker{s, &memory{}})
		if fault.KindOf(err) != fault.Host || got.Failed != 1 {
			t.Errorf("got %+v, %v; want a Host fault, failed 1", got, err)
		}
	})
}

// A job that no worker could start is not taken.
func TestAJobIsTakenOnlyWhenThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := runner.NewRoster(instances(9))
		ctx, cancel := context.WithCancel(t.Context())
		s := solve(func(ctx context.Context, _ attempt) (*record, error) { <-ctx.Done(); return nil, ctx.Err() })
		time.AfterFunc(time.Minute, cancel)
		got, err := runner.Run(ctx, runner.Config{Width: runner.NewWidth(3)}, q, worker{s, &memory{}})
		if err != nil || got.Pending != 9 || q.Left() != 6 {
			t.Errorf("got %+v, %v, %d jobs left; want pending 9, 6 jobs, no error", got, err, q.Left())
		}
	})
}

func TestABudgetSpentByTheLastJobDoesNotStopTheRun(t *testing.T) {
	s := solve(func(ctx context.Context, a attempt) (*record, error) {
		call, err := a.Reserve(ctx)
		call.Settle(1)
		return submitted(a.Job), err
	})
	for n, want := range map[int]runner.Summary{2: {Final: 2}, 3: {Final: 2, Pending: 1, Budget: true}} {
		got, err := run(t.Context(), runner.Config{Budget: runner.NewBudget(2, 0, 0)}, instances(n), s, &memory{})
		if err != nil || got != want {
			t.Errorf("got %d jobs: %+v, %v; want %v, no error", n, got, err, want)
		}
	}
}

func TestTheNumberOfWorkersChangesWhileJobsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := runner.NewWidth(2)
		var running atomic.Int32
		var m memory
		s := solve(func(_ context.Context, a attempt) (*record, error) {
			running.Add(1)
			defer running.Add(-1)
			time.Sleep(10 * time.Minute)
			return submitted(a.Job), nil
		})
		var seen []int32
		look := func(after time.Duration) {
			time.Sleep(after)
			synctest.Wait()
			seen = append(seen, running.Load())
		}
		var looking sync.WaitGroup
		looking.Go(func() {
			look(time.Minute) // 1: two
			w.Set(5)
			look(time.Second) // more workers at once
			w.Set(1)
			look(time.Minute)                    // 2: no running one is stopped
			look(8*time.Minute + 30*time.Second) // 10: the first two have ended
			look(time.Minute)                    // 11: and the other three have ended
			look(10 * time.Minute)               // 21: one after the other
			w.Set(0)
			look(10 * time.Minute) // 31: at least one
			w.Set(3)
			w.Set(4)
			look(time.Minute)
		})
		got, err := run(t.Context(), runner.Config{Width: w}, instances(12), s, &m)
		if err != nil || got.Final != 12 {
			t.Errorf("got %+v, %v; want final 12, no error", got, err)
		}
		looking.Wait()
		if want := []int32{2, 5, 5, 3, 1, 1, 1, 4}; !slices.Equal(seen, want) {
			t.Errorf("%v ran, want %v", seen, want)
		}
	})
}

// A job that is retried keeps its place when the number of workers shrinks.
func TestFewerWorkersStillAdmitARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := runner.NewWidth(2)
		s := solve(func(_ context.Context, a attempt) (*record, error) {
			time.Sleep(time.Minute)
			if a.Number == 1 {
				return nil, fault.Newf(fault.Transient, "busy")
			}
			return submitted(a.Job), nil
		})
		time.AfterFunc(time.Second, func() { w.Set(1) })
		start := time.Now()
		got, err := run(t.Context(), runner.Config{Width: w, Backoff: time.Minute}, instances(3), s, &memory{})
		if err != nil || got.Final != 3 || time.Since(start) != 6*time.Minute {
			t.Errorf("got %+v, %v after %v; want final 3, after %v, no error",
				got, err, time.Since(start), 6*time.Minute)
		}
	})
}
