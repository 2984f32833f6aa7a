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

	"batch.example/batch/fault"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

type attempt = runner.Attempt[string]

// solve makes attempts with a function.
type solve func(ctx context.Context, a attempt) (*record, error)

// record is the result of an attempt, as it is saved.
type record struct {
	Job   string
	Stack string // of a panic
	runner.Ending
}

// memory keeps every record in the order of Save.
type memory struct {
	mu      sync.Mutex
	records []record
	fail    error
}

// worker is a runner.Worker made of its two parts. Its jobs are their own names.
type worker struct {
	do interface {
		Do(context.Context, attempt) (*record, error)
	}
	*memory
}

func (f solve) Do(ctx context.Context, a attempt) (*record, error) { return f(ctx, a) }

func (w worker) Do(ctx context.Context, a attempt) (*record, error) { return w.do.Do(ctx, a) }

func (w worker) Name(job string) string { return job }

func (m *memory) Save(ctx context.Context, job string, r *record, err error) (runner.Ending, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil {
		return runner.Ending{}, ctx.Err()
	}
	if r == nil {
		r = &record{Job: job}
	}
	if err != nil {
		cost := r.Cost
		r.Ending = runner.EndingOf(err)
		r.Cost = cost
	}
	if p, ok := errors.AsType[*runner.Panic](err); ok {
		r.Stack = p.Stack
	}
	m.records = append(m.records, *r)
	return r.Ending, m.fail
}

// last returns the final record of each job.
func (m *memory) last() map[string]vocab.Outcome {
	last := map[string]vocab.Outcome{}
	for _, r := range m.records {
		last[r.Job] = r.Outcome
	}
	return last
}

func run(ctx context.Context, c runner.Config, jobs []string, s interface {
	Do(context.Context, attempt) (*record, error)
}, m *memory,
) (runner.Summary, error) {
	return runner.Run(ctx, c, runner.NewRoster(jobs), worker{s, m})
}

func instances(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("repo__%d", i)
	}
	return list
}

func submitted(id string) *record {
	return &record{Job: id, Ending: runner.Ending{Outcome: "submitted", Status: "Submitted"}}
}

func TestEveryInstanceIsSolvedOnceByAtMostTheAskedWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		s := solve(func(_ context.Context, a attempt) (*record, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return submitted(a.Job), nil
		})
		var m memory
		sum, err := run(t.Context(), runner.Config{Width: runner.NewWidth(4)}, instances(10), s, &m)
		if err != nil || sum.Final != 10 || sum.Failed+sum.Pending != 0 {
			t.Fatalf("summary %+v, %v; want final 10, pending 0, no error", sum, err)
		}
		if most != 4 {
			t.Errorf("%d ran at once, want 4", most)
		}
		if len(m.records) != 10 || len(m.last()) != 10 {
			t.Errorf("got %d records of %d instances; want 10 records, 10 last message", len(m.records), len(m.last()))
		}
	})
}

func TestASuccessfulRetryIsTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var queued []time.Duration
		s := solve(func(_ context.Context, a attempt) (*record, error) {
			queued = append(queued, a.Queued)
			if a.Number == 1 {
				return nil, fault.New(fault.Transient, "pulling", errors.New("429"))
			}
			return submitted(a.Job), nil
		})
		var m memory
		start := time.Now()
		sum, err := run(t.Context(), runner.Config{Backoff: 7 * time.Second}, instances(1), s, &m)
		if err != nil || sum.Final != 1 || sum.Failed != 0 || len(m.records) != 2 {
			t.Errorf("got %+v, %v, %d records; want final 1, failed 0, 2 records, no error", sum, err, len(m.records))
		}
		if want := []time.Duration{0, 7 * time.Second}; !slices.Equal(queued, want) {
			t.Errorf("queued for %v, want %v", queued, want)
		}
		if d := time.Since(start); d != 7*time.Second {
			t.Errorf("waited %v before the second try, want 7s", d)
		}
	})
}

// A wait of one nanosecond is set, unlike zero.
func TestTheFirstRetryWaitDefaultsToFiveSeconds(t *testing.T) {
	for backoff, want := range map[time.Duration]time.Duration{0: 5 * time.Second, 1: 1, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := solve(func(_ context.Context, a attempt) (*record, error) {
				if a.Number == 1 {
					return nil, fault.New(fault.Transient, "trying", errors.New("busy"))
				}
				return submitted(a.Job), nil
			})
			start := time.Now()
			_, _ = run(t.Context(), runner.Config{Backoff: backoff}, instances(1), s, &memory{})
			if d := time.Since(start); d != want {
				t.Errorf("a backoff of %v waits %v, want %v", backoff, d, want)
			}
		})
	}
}

func TestTheRetryWaitGrowsToALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := solve(func(context.Context, attempt) (*record, error) {
			return nil, fault.New(fault.Transient, "trying", errors.New("busy"))
		})
		start := time.Now()
		_, _ = run(t.Context(), runner.Config{Retries: runner.Retries{"transient": 99}}, instances(1), s, &memory{})
		// 5, 10, 20, 40, 80 s, then 94 times two minutes.
		if d, want := time.Since(start), 155*time.Second+94*2*time.Minute; d != want {
			t.Errorf("100 tries took %v, want %v", d, want)
		}
	})
}

func TestAPanicDoesNotAffectOtherInstances(t *testing.T) {
	s := solve(func(_ context.Context, a attempt) (*record, error) {
		if a.Job == "repo__2" {
			panic("boom")
		}
		return submitted(a.Job), nil
	})
	var m memory
	sum, err := run(t.Context(), runner.Config{Width: runner.NewWidth(2)}, instances(5), s, &m)
	if err != nil || sum.Final != 4 || sum.Failed != 1 {
		t.Fatalf("got %+v, %v; want final 4, failed 1, no error", sum, err)
	}
	i := slices.IndexFunc(m.records, func(r record) bool { return r.Job == "repo__2" })
	if r := m.records[i]; r.Status != "Bug" || r.Error != "panic while solving repo__2: boom" || !strings.Contains(r.Stack, "runner_test.go") {
		t.Errorf("the panic's record is %+v", r)
	}
}

func TestAHostFaultStopsAdmission(t *testing.T) {
	s := solve(func(_ context.Context, a attempt) (*record, error) {
		if a.Job == "repo__1" {
			return nil, fault.New(fault.Host, "starting", errors.New("engine gone"))
		}
		return submitted(a.Job), nil
	})
	var m memory
	var told []error
	sum, err := run(t.Context(), runner.Config{OnStop: func(err error) { told = append(told, err) }}, instances(6), s, &m)
	if fault.KindOf(err) != fault.Host || sum.Final != 1 || sum.Failed != 1 || sum.Pending != 4 {
		t.Errorf("got %+v, %v; want a Host fault, final 1, failed 1, pending 4", sum, err)
	}
	if len(told) != 1 || !errors.Is(told[0], err) {
		t.Errorf("OnStop got %v, want %v once", told, err)
	}
	if len(m.records) != 2 {
		t.Errorf("%d attempts, want 2", len(m.records))
	}
}

func TestDrainLetsRunningInstancesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drain := make(chan struct{})
		s := solve(func(_ context.Context, a attempt) (*record, error) {
			time.Sleep(time.Minute)
			return submitted(a.Job), nil
		})
		time.AfterFunc(90*time.Second, func() { close(drain) })
		var m memory
		sum, err := run(t.Context(), runner.Config{Width: runner.NewWidth(2), Drain: drain}, instances(9), s, &m)
		if err != nil || sum.Final != 4 || sum.Pending != 5 {
			t.Errorf("%+v, %v; want 4 final, 5 pending", sum, err)
		}
	})
}

func TestCancelStoresRunningInstancesAsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := solve(func(ctx context.Context, a attempt) (*record, error) {
			<-ctx.Done()
			return &record{Job: a.Job, Ending: runner.Ending{Cost: 0.5}}, fault.New(fault.Transient, "asking the model", ctx.Err())
		})
		time.AfterFunc(time.Second, cancel)
		var m memory
		sum, err := run(ctx, runner.Config{Width: runner.NewWidth(2)}, instances(3), s, &m)
		if err != nil || sum.Pending != 3 {
			t.Errorf("got %+v, %v; want pending 3, no error", sum, err)
		}
		if len(m.records) != 2 {
			t.Fatalf("%d records, want the two that ran", len(m.records))
		}
		for _, r := range m.records {
			if r.Outcome != vocab.OutcomePending || r.Blame != "" || r.Cost != 0.5 {
				t.Errorf("record %+v, want pending with its cost kept", r)
			}
		}
	})
}

func TestASpentBudgetStopsTheRunWithoutAFault(t *testing.T) {
	s := solve(func(ctx context.Context, a attempt) (*record, error) {
		for range 4 {
			call, err := a.Reserve(ctx)
			if err != nil {
				return nil, fmt.Errorf("asking the model: %w", err)
			}
			call.Settle(0.25)
		}
		return submitted(a.Job), nil
	})
	for _, n := range []int{3, 5} { // the last instance gets the error, or an earlier one
		var m memory
		b := runner.NewBudget(3, 0.5, 0)
		sum, err := run(t.Context(), runner.Config{Budget: b}, instances(n), s, &m)
		if err != nil || !sum.Budget || sum.Final != 2 || sum.Failed != 0 || sum.Pending != n-2 {
			t.Errorf("%+v, %v; want 2 final, %d pending", sum, err, n-2)
		}
		if b.Spent() != 3 {
			t.Errorf("spent %v, want exactly the limit of 3", b.Spent())
		}
		if got := m.last()["repo__2"]; got != vocab.OutcomePending {
			t.Errorf("the instance that met the limit is %v, want pending", got)
		}
	}
}

func TestAStoreThatCannotSaveStopsTheRun(t *testing.T) {
	s := solve(func(_ context.Context, a attempt) (*record, error) {
		return submitted(a.Job), nil
	})
	m := memory{fail: errors.New("no space left on device")}
	sum, err := run(t.Context(), runner.Config{}, instances(3), s, &m)
	if fault.KindOf(err) != fault.Host || sum.Final != 0 || sum.Failed != 1 || sum.Pending != 2 {
		t.Errorf("got %+v, %v; want a Host fault, final 0, failed 1, pending 2", sum, err)
	}
}

func TestAnInstanceThatCannotBeSavedDoesNotStopOthers(t *testing.T) {
	s := solve(func(_ context.Context, a attempt) (*record, error) {
		return submitted(a.Job), nil
	})
	m := memory{fail: fault.New(fault.Instance, "saving", errors.New("the id is a reserved name"))}
	sum, err := run(t.Context(), runner.Config{}, instances(3), s, &m)
	if err != nil || sum.Failed != 3 {
		t.Errorf("got %+v, %v; want failed 3, no error", sum, err)
	}
}

func TestRetriesAreCountedByHowAnAttemptEnded(t *testing.T) {
	ending := func(outcome vocab.Outcome, status vocab.Status) func(id string) (*record, error) {
		return func(id string) (*record, error) {
			return &record{Job: id, Ending: runner.Ending{Outcome: outcome, Status: status}}, nil
		}
	}
	faulty := func(kind fault.Kind) func(string) (*record, error) {
		return func(string) (*record, error) { return nil, fault.New(kind, "trying", errors.New("broken")) }
	}
	for _, tc := range []struct {
		name    string
		retry   []string
		endings []func(string) (*record, error) // the last one repeats
		want    int
		slept   time.Duration
	}{
		{"a fault that passes, by default", nil, []func(string) (*record, error){faulty(fault.Transient)}, 3, 15 * time.Second},
		{"no other fault, by default", nil, []func(string) (*record, error){faulty(fault.Bug)}, 1, 0},
		{"not even that", []string{"transient=0"}, []func(string) (*record, error){faulty(fault.Transient)}, 1, 0},
		{"an agent's own ending needs no wait", []string{"limit=2"}, []func(string) (*record, error){ending("limit", "LimitsExceeded")}, 3, 0},
		{"a status before its outcome", []string{"limit=5", "TimeExceeded=1"}, []func(string) (*record, error){ending("limit", "TimeExceeded")}, 2, 0},
		{"a kind before infrastructure", []string{"infrastructure=5", "instance=1"}, []func(string) (*record, error){faulty(fault.Instance)}, 2, 5 * time.Second},
		{"infrastructure", []string{"Infrastructure=1"}, []func(string) (*record, error){faulty(fault.Bug)}, 2, 5 * time.Second},
		{"never a fault of the host", []string{"infrastructure=5"}, []func(string) (*record, error){faulty(fault.Host)}, 1, 0},
		{"each kind for itself", []string{"transient=1", "empty=1"}, []func(string) (*record, error){
			faulty(fault.Transient), ending("empty", "Submitted"), ending("submitted", "Submitted"),
		}, 3, 5 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				retries, err := runner.ParseRetries(tc.retry)
				if err != nil {
					t.Fatal(err)
				}
				s := solve(func(_ context.Context, a attempt) (*record, error) {
					return tc.endings[min(a.Number, len(tc.endings))-1](a.Job)
				})
				var m memory
				start := time.Now()
				sum, _ := run(t.Context(), runner.Config{Retries: retries}, instances(1), s, &m)
				if len(m.records) != tc.want || time.Since(start) != tc.slept {
					t.Errorf("%d attempts in %v, want %d in %v", len(m.records), time.Since(start), tc.want, tc.slept)
				}
				if sum.Final+sum.Failed != 1 {
					t.Errorf("summary %+v, want failed 1", sum)
				}
			})
		})
	}
}

func TestInvalidRetriesAreRefused(t *testing.T) {
	for _, spec := range []string{"", "transient", "transient=x", "transient=-1", "host=2", "submitted=1", "pending=1", "limits=1"} {
		_, err := runner.ParseRetries([]string{spec})
		if fault.KindOf(err) != fault.Usage {
			t.Errorf("--retry %q: %v; want a Usage fault", spec, err)
		}
	}
	_, err := runner.ParseRetries([]string{"limits=1"})
	const want = "did you mean limit? expected one of transient, instance, unknown, bug, expired, empty, limit, format, failed, diverged, " +
		"infrastructure, LimitsExceeded, TimeExceeded, RepeatedFormatError, ContextWindowExceeded, ContentPolicyViolation, " +
		"EnvironmentDestroyed, Answered, InputRequired, TransientFault, InstanceFault, UnknownFault, ExpiredFault"
	if fault.HintOf(err) != want {
		t.Errorf("hint %q, want %q", fault.HintOf(err), want)
	}
	r, err := runner.ParseRetries([]string{" TIMEEXCEEDED = 4 ", "limit=1", "failed=3", "contextwindowexceeded=2"})
	if err != nil || r.String() != "ContextWindowExceeded=2,TimeExceeded=4,diverged=3,failed=3,limit=1,transient=2" {
		t.Errorf("got %v, %v; want %q, no error",
			r, err, "ContextWindowExceeded=2,TimeExceeded=4,diverged=3,failed=3,limit=1,transient=2")
	}
}

func TestADrainingRunDoesNotRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drain := make(chan struct{})
		s := solve(func(context.Context, attempt) (*record, error) {
			return nil, fault.New(fault.Transient, "trying", errors.New("busy"))
		})
		time.AfterFunc(time.Second, func() { close(drain) })
		var m memory
		sum, err := run(t.Context(), runner.Config{Drain: drain}, instances(2), s, &m)
		if err != nil || len(m.records) != 1 || sum.Failed != 1 || sum.Pending != 1 {
			t.Errorf("%d attempts, %+v, %v; want the one that was under way", len(m.records), sum, err)
		}
	})
}

func TestAUsageFaultStopsAdmission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := solve(func(_ context.Context, a attempt) (*record, error) {
			if a.Job == "repo__1" {
				time.Sleep(time.Second) // the other worker's job is admitted by now
				return nil, fault.New(fault.Usage, "creating a container", errors.New("network nope not found")).WithHint("docker network ls")
			}
			time.Sleep(time.Minute)
			return submitted(a.Job), nil
		})
		var m memory
		// Retries by the fault's kind or by the outcome's name do not retry it either.
		retries := runner.Retries{"usage": 5, "UsageFault": 5, "infrastructure": 5}
		sum, err := run(t.Context(), runner.Config{Width: runner.NewWidth(2), Retries: retries}, instances(6), s, &m)
		if sum.Final != 1 || sum.Failed != 1 || sum.Pending != 4 || len(m.records) != 2 {
			t.Errorf("%+v, %d attempts; want the running one ended and 4 not begun", sum, len(m.records))
		}
		if fault.KindOf(err) != fault.Host || fault.HintOf(err) != "docker network ls" || err.Error() != "creating a container: network nope not found" {
			t.Errorf("%v is %v, hint %q; want the cause as a Host fault: something was started", err, fault.KindOf(err), fault.HintOf(err))
		}
		if r := m.records[0]; r.Job != "repo__1" || r.Status != "UsageFault" || r.Blame != "usage" || r.Outcome != "infrastructure" {
			t.Errorf("record %+v, want job %q, status %q, blame %q, outcome %q",
				r, "repo__1", "UsageFault", "usage", "infrastructure")
		}
	})
}

// A value that a try kept is closed once: by the try that takes it, or at the end.
func TestWhatAnAttemptKeepsForARetryIsClosedOnce(t *testing.T) {
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
				s := solve(func(_ context.Context, a attempt) (*record, error) {
					queued = append(queued, a.Queued)
					if a.Number == 1 {
						if a.Kept() != nil {
							t.Error("the first try was given something kept")
						}
						a.Keep(box)
						time.Sleep(time.Hour)
						return nil, fault.New(fault.Transient, "asking", errors.New("503"))
					}
					if c.takes && (a.Kept() != box || a.Kept() != nil) {
						t.Error("the second try was not given once what the first kept")
					}
					return submitted(a.Job), nil
				})
				var m memory
				var log strings.Builder
				sum, err := run(t.Context(), runner.Config{
					Backoff: time.Second, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})),
				}, instances(1), s, &m)
				if err != nil || sum.Final != 1 || box.closed != c.want {
					t.Errorf("got %+v, %v, closed %d times; want final 1, closed %v, no error", sum, err, box.closed, c.want)
				}
				if told := strings.Contains(log.String(), "it is gone"); told != c.fails || log.Len() > 0 != c.fails {
					t.Errorf("the log says %q, want an entry: %v", &log, c.fails)
				}
				if len(queued) != 2 || queued[0] != 0 || queued[1] <= 0 || queued[1] > time.Minute {
					t.Errorf("queued for %v: the wait of the first try must not count for the second", queued)
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
