package runner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/runner"
)

// solve makes a Solver of a function.
type solve func(ctx context.Context, a runner.Attempt) (*results.Result, error)

func (f solve) Solve(ctx context.Context, a runner.Attempt) (*results.Result, error) {
	return f(ctx, a)
}

// memory is a Store that keeps every record in the order of Put.
type memory struct {
	mu      sync.Mutex
	records []results.Record
	results []*results.Result
	fail    error
}

func (m *memory) Put(ctx context.Context, r *results.Result) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.records = append(m.records, r.Record)
	m.results = append(m.results, r)
	return m.fail
}

// last returns the last outcome stored of each instance.
func (m *memory) last() map[string]results.Outcome {
	last := map[string]results.Outcome{}
	for _, r := range m.records {
		last[r.InstanceID] = r.Outcome
	}
	return last
}

func instances(n int) []dataset.Instance {
	list := make([]dataset.Instance, n)
	for i := range list {
		list[i].ID = fmt.Sprintf("repo__%d", i)
	}
	return list
}

func submitted(id string) *results.Result {
	return &results.Result{Record: results.Record{InstanceID: id, Outcome: results.Submitted, Status: "Submitted"}}
}

func TestEveryInstanceIsSolvedOnceByAtMostTheAskedWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return submitted(a.Instance.ID), nil
		})
		var m memory
		sum, err := runner.Run(t.Context(), runner.Config{Workers: 4}, instances(10), s, &m)
		if err != nil || sum.Final != 10 || sum.Failed+sum.Pending != 0 {
			t.Fatalf("summary %+v, %v", sum, err)
		}
		if most != 4 {
			t.Errorf("%d ran at once, want 4", most)
		}
		if len(m.records) != 10 || len(m.last()) != 10 {
			t.Errorf("%d records of %d instances", len(m.records), len(m.last()))
		}
	})
}

func TestOnlyTransientFaultsAreTriedAgain(t *testing.T) {
	for _, tc := range []struct {
		kind fault.Kind
		want int
	}{
		{fault.Transient, 3}, {fault.Instance, 1}, {fault.Unknown, 1}, {fault.Bug, 1}, {fault.Host, 1},
	} {
		t.Run(tc.kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
					known := submitted(a.Instance.ID) // what an agent did before something broke
					known.Info.ExitStatus = known.Record.Status
					return known, fault.New(tc.kind, "trying", errors.New("broken"))
				})
				var m memory
				sum, _ := runner.Run(t.Context(), runner.Config{}, instances(1), s, &m)
				if len(m.records) != tc.want || sum.Failed != 1 {
					t.Fatalf("%d attempts, summary %+v; want %d attempts and 1 failed", len(m.records), sum, tc.want)
				}
				want := results.Record{
					InstanceID: "repo__0", Outcome: results.Infrastructure,
					Status: tc.kind.Status(), Blame: tc.kind.String(), Error: "trying: broken",
				}
				if diff := cmp.Diff(want, m.records[0]); diff != "" {
					t.Error(diff)
				}
				if info := m.results[0].Info; info.ExitStatus != want.Status || info.Exception != want.Error {
					t.Errorf("the trajectory says %q, %q", info.ExitStatus, info.Exception)
				}
			})
		})
	}
}

func TestASecondTryThatWorksIsTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queued []time.Duration
		s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
			queued = append(queued, a.Queued)
			if a.Try == 1 {
				return nil, fault.New(fault.Transient, "pulling", errors.New("429"))
			}
			return submitted(a.Instance.ID), nil
		})
		var m memory
		start := time.Now()
		sum, err := runner.Run(t.Context(), runner.Config{Backoff: 7 * time.Second}, instances(1), s, &m)
		if err != nil || sum.Final != 1 || sum.Failed != 0 || len(m.records) != 2 {
			t.Errorf("%+v, %v, %d records", sum, err, len(m.records))
		}
		if want := []time.Duration{0, 7 * time.Second}; !slices.Equal(queued, want) {
			t.Errorf("queued for %v, want %v", queued, want)
		}
		if d := time.Since(start); d != 7*time.Second {
			t.Errorf("waited %v before the second try, want 7s", d)
		}
	})
}

// The shortest wait that a caller asks for is a wait that was asked for.
func TestTheFirstWaitIsTheCallersElseFiveSeconds(t *testing.T) {
	for backoff, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 1: 1, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
				if a.Try == 1 {
					return nil, fault.New(fault.Transient, "trying", errors.New("busy"))
				}
				return submitted(a.Instance.ID), nil
			})
			start := time.Now()
			_, _ = runner.Run(t.Context(), runner.Config{Backoff: backoff}, instances(1), s, &memory{})
			if d := time.Since(start); d != want {
				t.Errorf("a backoff of %v waits %v, want %v", backoff, d, want)
			}
		})
	}
}

func TestTheWaitBetweenTriesGrowsToALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := solve(func(context.Context, runner.Attempt) (*results.Result, error) {
			return nil, fault.New(fault.Transient, "trying", errors.New("busy"))
		})
		start := time.Now()
		_, _ = runner.Run(t.Context(), runner.Config{Retries: runner.Retries{"transient": 99}}, instances(1), s, &memory{})
		// 5, 10, 20, 40, 80 s, then 94 times two minutes.
		if d, want := time.Since(start), 155*time.Second+94*2*time.Minute; d != want {
			t.Errorf("100 tries took %v, want %v", d, want)
		}
	})
}

func TestAPanicTouchesNoOtherInstance(t *testing.T) {
	s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
		if a.Instance.ID == "repo__2" {
			panic("boom")
		}
		return submitted(a.Instance.ID), nil
	})
	var m memory
	sum, err := runner.Run(t.Context(), runner.Config{Workers: 2}, instances(5), s, &m)
	if err != nil || sum.Final != 4 || sum.Failed != 1 {
		t.Fatalf("%+v, %v", sum, err)
	}
	i := slices.IndexFunc(m.records, func(r results.Record) bool { return r.InstanceID == "repo__2" })
	if r := m.results[i]; r.Record.Status != "Bug" || r.Info.Traceback == "" {
		t.Errorf("the panic's record is %+v, its trajectory has no stack", r.Record)
	}
}

func TestAHostFaultStopsAdmission(t *testing.T) {
	s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
		if a.Instance.ID == "repo__1" {
			return nil, fault.New(fault.Host, "starting", errors.New("engine gone"))
		}
		return submitted(a.Instance.ID), nil
	})
	var m memory
	sum, err := runner.Run(t.Context(), runner.Config{}, instances(6), s, &m)
	if fault.KindOf(err) != fault.Host || sum.Final != 1 || sum.Failed != 1 || sum.Pending != 4 {
		t.Errorf("%+v, %v", sum, err)
	}
	if len(m.records) != 2 {
		t.Errorf("%d attempts, want 2", len(m.records))
	}
}

func TestDrainLetsTheRunningOnesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drain := make(chan struct{})
		s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
			time.Sleep(time.Minute)
			return submitted(a.Instance.ID), nil
		})
		time.AfterFunc(90*time.Second, func() { close(drain) })
		var m memory
		sum, err := runner.Run(t.Context(), runner.Config{Workers: 2, Drain: drain}, instances(9), s, &m)
		if err != nil || sum.Final != 4 || sum.Pending != 5 {
			t.Errorf("%+v, %v; want 4 final, 5 pending", sum, err)
		}
	})
}

func TestCancelStoresTheRunningOnesAsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := solve(func(ctx context.Context, a runner.Attempt) (*results.Result, error) {
			<-ctx.Done()
			known := &results.Result{Record: results.Record{InstanceID: a.Instance.ID, Cost: 0.5}}
			return known, fault.New(fault.Transient, "asking the model", ctx.Err())
		})
		time.AfterFunc(time.Second, cancel)
		var m memory
		sum, err := runner.Run(ctx, runner.Config{Workers: 2}, instances(3), s, &m)
		if err != nil || sum.Pending != 3 {
			t.Errorf("%+v, %v", sum, err)
		}
		if len(m.records) != 2 {
			t.Fatalf("%d records, want the two that ran", len(m.records))
		}
		for _, r := range m.records {
			if r.Outcome != results.Pending || r.Blame != "" || r.Cost != 0.5 {
				t.Errorf("record %+v, want pending with its cost kept", r)
			}
		}
	})
}

func TestTheBudgetStopsTheRunAndBlamesNobody(t *testing.T) {
	s := solve(func(ctx context.Context, a runner.Attempt) (*results.Result, error) {
		for range 4 {
			call, err := a.Reserve(ctx)
			if err != nil {
				return nil, fmt.Errorf("asking the model: %w", err)
			}
			call.Settle(0.25)
		}
		return submitted(a.Instance.ID), nil
	})
	for _, n := range []int{3, 5} { // the last one meets it, or one before others
		var m memory
		b := runner.NewBudget(3, 0.5, 0)
		sum, err := runner.Run(t.Context(), runner.Config{Budget: b}, instances(n), s, &m)
		if err != nil || !sum.Budget || sum.Final != 2 || sum.Failed != 0 || sum.Pending != n-2 {
			t.Errorf("%+v, %v; want 2 final, %d pending", sum, err, n-2)
		}
		if b.Spent() != 3 {
			t.Errorf("spent %v, want exactly the limit of 3", b.Spent())
		}
		if got := m.last()["repo__2"]; got != results.Pending {
			t.Errorf("the instance that met the limit is %q, want pending", got)
		}
	}
}

func TestAStoreThatCannotSaveStopsTheRun(t *testing.T) {
	s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
		return submitted(a.Instance.ID), nil
	})
	m := memory{fail: errors.New("no space left on device")}
	sum, err := runner.Run(t.Context(), runner.Config{}, instances(3), s, &m)
	if fault.KindOf(err) != fault.Host || sum.Final != 0 || sum.Failed != 1 || sum.Pending != 2 {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestAnInstanceThatCannotBeSavedStopsNoOther(t *testing.T) {
	s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
		return submitted(a.Instance.ID), nil
	})
	m := memory{fail: fault.New(fault.Instance, "saving", errors.New("the id is a reserved name"))}
	sum, err := runner.Run(t.Context(), runner.Config{}, instances(3), s, &m)
	if err != nil || sum.Failed != 3 {
		t.Errorf("%+v, %v", sum, err)
	}
}

func TestRetriesAreCountedByHowAnAttemptEnded(t *testing.T) {
	ending := func(o results.Outcome, status string) func(id string) (*results.Result, error) {
		return func(id string) (*results.Result, error) {
			return &results.Result{Record: results.Record{InstanceID: id, Outcome: o, Status: status}}, nil
		}
	}
	faulty := func(kind fault.Kind) func(string) (*results.Result, error) {
		return func(string) (*results.Result, error) { return nil, fault.New(kind, "trying", errors.New("broken")) }
	}
	for _, tc := range []struct {
		name    string
		retry   []string
		endings []func(string) (*results.Result, error) // the last one repeats
		want    int
		slept   time.Duration
	}{
		{"a fault that passes, by default", nil, []func(string) (*results.Result, error){faulty(fault.Transient)}, 3, 15 * time.Second},
		{"not even that", []string{"transient=0"}, []func(string) (*results.Result, error){faulty(fault.Transient)}, 1, 0},
		{"an agent's own ending needs no wait", []string{"limit=2"}, []func(string) (*results.Result, error){ending(results.Limit, "LimitsExceeded")}, 3, 0},
		{"a status before its outcome", []string{"limit=5", "TimeExceeded=1"}, []func(string) (*results.Result, error){ending(results.Limit, "TimeExceeded")}, 2, 0},
		{"a kind before infrastructure", []string{"infrastructure=5", "instance=1"}, []func(string) (*results.Result, error){faulty(fault.Instance)}, 2, 5 * time.Second},
		{"infrastructure", []string{"Infrastructure=1"}, []func(string) (*results.Result, error){faulty(fault.Bug)}, 2, 5 * time.Second},
		{"never a fault of the host", []string{"infrastructure=5"}, []func(string) (*results.Result, error){faulty(fault.Host)}, 1, 0},
		{"each kind for itself", []string{"transient=1", "empty=1"}, []func(string) (*results.Result, error){
			faulty(fault.Transient), ending(results.Empty, "Submitted"), ending(results.Submitted, "Submitted"),
		}, 3, 5 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				retries, err := runner.ParseRetries(tc.retry)
				if err != nil {
					t.Fatal(err)
				}
				s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
					return tc.endings[min(a.Try, len(tc.endings))-1](a.Instance.ID)
				})
				var m memory
				start := time.Now()
				sum, _ := runner.Run(t.Context(), runner.Config{Retries: retries}, instances(1), s, &m)
				if len(m.records) != tc.want || time.Since(start) != tc.slept {
					t.Errorf("%d attempts in %v, want %d in %v", len(m.records), time.Since(start), tc.want, tc.slept)
				}
				if sum.Final+sum.Failed != 1 {
					t.Errorf("summary %+v", sum)
				}
			})
		})
	}
}

func TestRetriesThatMeanNothingAreRefused(t *testing.T) {
	for _, spec := range []string{"", "transient", "transient=x", "transient=-1", "host=2", "submitted=1", "pending=1", "limits=1"} {
		_, err := runner.ParseRetries([]string{spec})
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("--retry %q: %v", spec, err)
		}
	}
	_, err := runner.ParseRetries([]string{"limits=1"})
	if fault.HintOf(err) != "did you mean limit?" {
		t.Errorf("hint %q", fault.HintOf(err))
	}
	r, err := runner.ParseRetries([]string{" TIMEEXCEEDED = 4 ", "limit=1", "failed=3", "contextwindowexceeded=2"})
	if err != nil || r.String() != "ContextWindowExceeded=2,TimeExceeded=4,diverged=3,failed=3,limit=1,transient=2" {
		t.Errorf("%v, %v", r, err)
	}
}

func TestNothingIsTriedAgainOnceTheRunDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drain := make(chan struct{})
		s := solve(func(context.Context, runner.Attempt) (*results.Result, error) {
			return nil, fault.New(fault.Transient, "trying", errors.New("busy"))
		})
		time.AfterFunc(time.Second, func() { close(drain) })
		var m memory
		sum, err := runner.Run(t.Context(), runner.Config{Drain: drain}, instances(2), s, &m)
		if err != nil || len(m.records) != 1 || sum.Failed != 1 || sum.Pending != 1 {
			t.Errorf("%d attempts, %+v, %v; want the one that was under way", len(m.records), sum, err)
		}
	})
}

func TestAFaultThatAllInstancesShareStopsAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
			if a.Instance.ID == "repo__1" {
				time.Sleep(time.Second) // the other worker's is admitted by now
				return nil, fault.New(fault.Usage, "creating a container", errors.New("network nope not found")).WithHint("docker network ls")
			}
			time.Sleep(time.Minute)
			return submitted(a.Instance.ID), nil
		})
		var m memory
		// Neither the kind's own name nor the outcome's makes it tried again.
		retries := runner.Retries{"usage": 5, "UsageFault": 5, "infrastructure": 5}
		sum, err := runner.Run(t.Context(), runner.Config{Workers: 2, Retries: retries}, instances(6), s, &m)
		if sum.Final != 1 || sum.Failed != 1 || sum.Pending != 4 || len(m.records) != 2 {
			t.Errorf("%+v, %d attempts; want the running one ended and 4 not begun", sum, len(m.records))
		}
		if fault.KindOf(err) != fault.Host || fault.HintOf(err) != "docker network ls" || err.Error() != "creating a container: network nope not found" {
			t.Errorf("%v is %v, hint %q; want the cause as a Host fault: something was started", err, fault.KindOf(err), fault.HintOf(err))
		}
		if r := m.records[0]; r.InstanceID != "repo__1" || r.Status != "UsageFault" || r.Blame != "usage" || r.Outcome != results.Infrastructure {
			t.Errorf("record %+v", r)
		}
	})
}

// What a try kept is closed once: by the try that takes it, else at the end.
func TestWhatATryKeepsIsClosedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		takes, fails bool
		want         int // closings by the runner
	}{
		"the next try takes it":           {takes: true, want: 0},
		"the next try does not":           {want: 1},
		"and it cannot be closed cleanly": {fails: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := &closable{}
				if c.fails {
					box.err = errors.New("it is gone")
				}
				var queued []time.Duration
				s := solve(func(_ context.Context, a runner.Attempt) (*results.Result, error) {
					queued = append(queued, a.Queued)
					if a.Try == 1 {
						if a.Kept() != nil {
							t.Error("the first try finds something")
						}
						a.Keep(box)
						time.Sleep(time.Hour)
						return nil, fault.New(fault.Transient, "asking", errors.New("503"))
					}
					if c.takes && (a.Kept() != box || a.Kept() != nil) {
						t.Error("the second try does not find it once")
					}
					return submitted(a.Instance.ID), nil
				})
				var m memory
				var log strings.Builder
				sum, err := runner.Run(t.Context(), runner.Config{
					Backoff: time.Second, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})),
				}, instances(1), s, &m)
				if err != nil || sum.Final != 1 || box.closed != c.want {
					t.Errorf("%+v, %v, closed %d times", sum, err, box.closed)
				}
				if told := strings.Contains(log.String(), "it is gone"); told != c.fails || log.Len() > 0 != c.fails {
					t.Errorf("the log says %q", &log)
				}
				if len(queued) != 2 || queued[0] != 0 || queued[1] <= 0 || queued[1] > time.Minute {
					t.Errorf("waited %v: the hour of the first try is none of the second's", queued)
				}
			})
		})
	}
}

type closable struct {
	closed int
	err    error
}

func (c *closable) Close() error { c.closed++; return c.err }
