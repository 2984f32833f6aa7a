package attempt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// models is a Model made from a function.
type models func() (*llm.Response, error)

func (f models) Generate(context.Context, *llm.Request) (*llm.Response, error) { return f() }

// Money that stays reserved for a call that is over would be missing for the
// others, who would wait for it without end.
func TestMoneySetAsideIsFreedHoweverACallEnds(t *testing.T) {
	reply := &llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("", bash("submit").ToolCalls...)}, Cost: 0.25, Priced: true,
	}
	for name, c := range map[string]struct {
		model  models
		panics bool
		spent  float64
	}{
		"an answer":               {model: func() (*llm.Response, error) { return reply, nil }, spent: 0.25},
		"a refusal, unpaid":       {model: func() (*llm.Response, error) { return nil, &llm.Unpaid{Err: fault.Newf(fault.Transient, "503")} }},
		"silence, perhaps paid":   {model: func() (*llm.Response, error) { return nil, fault.Newf(fault.Transient, "no answer") }, spent: 0.5},
		"a panic, perhaps paid":   {model: func() (*llm.Response, error) { panic("a bug") }, panics: true, spent: 0.5},
		"a conversation too long": {model: func() (*llm.Response, error) { return nil, &llm.Unpaid{Err: fault.Newf(fault.Instance, "400")} }},
	} {
		t.Run(name, func(t *testing.T) {
			budget := runner.NewBudget(1, 0, 0.5)
			var store *results.Store
			panicked := func() (p any) {
				defer func() { p = recover() }()
				store = attemptUnder(t, budget, c.model, results.Options{})
				return nil
			}()
			if (panicked != nil) != c.panics {
				t.Fatalf("panic %v, want a panic: %v", panicked, c.panics)
			}
			if budget.Spent() != c.spent {
				t.Errorf("spent %v, want %v", budget.Spent(), c.spent)
			}
			stopped, cancel := context.WithCancel(t.Context())
			cancel() // so that it does not wait
			if _, err := budget.Reserve(stopped); err != nil {
				t.Fatalf("the next call was refused: %v", err)
			}
			second, err := budget.Reserve(stopped)
			if fits := 1-c.spent >= 1; (err == nil) != fits {
				t.Errorf("a call after the next: got %v, %v, with %v spent of 1 and 0.50 per call", second, err, c.spent)
			}
			if store != nil && store.Spent() != c.spent {
				t.Errorf("the journals say %v, want %v spent", store.Spent(), c.spent)
			}
		})
	}
}

// attemptUnder makes one attempt in a world.
func attemptUnder(t *testing.T, budget *runner.Budget, model llm.Model, o results.Options) *results.Store {
	t.Helper()
	store, err := results.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s := attempt.New(attempt.Config{
		Loop: newLoop(t, 20), ModelName: "test", Sandboxes: &worlds{}, Store: store,
		Models: func(dataset.Instance, int) (llm.Model, error) { return model, nil },
	})
	_, _ = s.Do(t.Context(), attempt.Attempt{
		Job: dataset.Instance{ID: "a"}, Number: 1, Report: func(vocab.Event) {},
		Reserve: budget.Reserve, Keep: closes, Kept: nothing,
	})
	return store
}

// counting counts the calls of a model.
type counting struct {
	llm.Model
	calls int
}

func (c *counting) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	c.calls++
	return c.Model.Generate(ctx, req)
}

// A request is durable before it is sent, an action before it runs, and a
// submission before it is used: when the n-th fsync fails, nothing
// that must follow it has happened.
func TestNoCallOrActionBeforeItsRecordIsDurable(t *testing.T) {
	play := []scripted.Reply{bash("do 1"), bash("do 2", "do 3"), bash("submit")}
	for n, want := range []struct{ calls, ran int }{
		{0, 0}, {0, 0}, {0, 0}, {1, 0}, // the session, its turn, the first request, "do 1"
		{1, 1}, {2, 1}, {2, 2}, // the second, "do 2", "do 3"
		{2, 3}, {3, 3}, // the third, "submit"
		{3, 4}, {3, 4}, // the end of the turn, the submission
	} {
		plan, err := inject.Parse(fmt.Sprintf("journal.sync:%d=EIO", n+1))
		if err != nil {
			t.Fatal(err)
		}
		store, err := results.Open(t.TempDir(), results.Options{Inject: plan})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		boxes, kept := &worlds{}, 0
		model := &counting{Model: scripted.Script{"a": play}.Model("a", scripted.Config{})}
		s := attempt.New(attempt.Config{
			Loop: newLoop(t, 20), ModelName: "test", Sandboxes: boxes, Store: store,
			Models: func(dataset.Instance, int) (llm.Model, error) { return model, nil },
		})
		_, err = s.Do(t.Context(), attempt.Attempt{
			Job: dataset.Instance{ID: "a"}, Number: 1, Report: func(vocab.Event) {},
			Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: func(io.Closer) { kept++ }, Kept: nothing,
		})
		if fault.KindOf(err) != fault.Host || kept != 1 {
			t.Errorf("fsync %d failed: %v (%v), kept %d containers", n+1, err, fault.KindOf(err), kept)
		}
		if model.calls != want.calls || len(boxes.opened.ran) != want.ran {
			t.Errorf("fsync %d failed: %d calls were made and %q ran, want %d and %d",
				n+1, model.calls, boxes.opened.ran, want.calls, want.ran)
		}
	}
}

// A record that cannot be written ends the attempt at any point, and does not
// blame the container.
func TestAnAttemptEndsWhenItsJournalFails(t *testing.T) {
	for n := 2; ; n++ { // the first record begins the attempt
		plan, err := inject.Parse(fmt.Sprintf("journal.append:%d=EIO", n))
		if err != nil {
			t.Fatal(err)
		}
		store, err := results.Open(t.TempDir(), results.Options{Inject: plan})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		kept := 0
		s := attempt.New(attempt.Config{
			Loop: newLoop(t, 20), ModelName: "test", Sandboxes: &worlds{}, Store: store,
			Models: func(dataset.Instance, int) (llm.Model, error) {
				return scripted.Script{"a": []scripted.Reply{bash("do 1"), bash("submit")}}.Model("a", scripted.Config{}), nil
			},
		})
		r, err := s.Do(t.Context(), attempt.Attempt{
			Job: dataset.Instance{ID: "a"}, Number: 1, Report: func(vocab.Event) {},
			Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: func(io.Closer) { kept++ }, Kept: nothing,
		})
		if plan.Acted() == 0 {
			if err != nil || n < 10 || r.Record.Outcome != vocab.OutcomeSubmitted {
				t.Errorf("undisturbed behind %d records: %v, %+v; want at least 10, outcome %v, no error",
					n-1, err, r.Record, vocab.OutcomeSubmitted)
			}
			return
		}
		if fault.KindOf(err) != fault.Host || kept != 1 {
			t.Errorf("record %d failed: %v (%v), kept %d containers", n, err, fault.KindOf(err), kept)
		}
	}
}

// Replies and outputs are written to the file as they arrive: the death of the
// process, without a power cut, loses none.
func TestPaidRepliesSurviveTheProcess(t *testing.T) {
	dir := t.TempDir()
	var inFile []int // records, when each command ran
	journal := func() int {
		data, err := os.ReadFile(filepath.Join(dir, "a", "journal.jsonl"))
		if err != nil {
			t.Error(err)
		}
		return bytes.Count(data, []byte(`"type":"reply"`))*10 + bytes.Count(data, []byte(`"type":"output"`))
	}
	store, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	play := scripted.Script{"a": []scripted.Reply{bash("do 1", "do 2"), bash("do 3"), bash("submit")}}.Model("a", scripted.Config{})
	s := attempt.New(attempt.Config{
		Loop: newLoop(t, 20), ModelName: "test", Sandboxes: &worlds{}, Store: store,
		Models: func(dataset.Instance, int) (llm.Model, error) { return play, nil },
	})
	_, err = s.Do(t.Context(), attempt.Attempt{
		Job: dataset.Instance{ID: "a"}, Number: 1,
		Report: func(p vocab.Event) {
			if p.Phase == "commands" || p.Phase == "model" || p.Phase == "finish" {
				inFile = append(inFile, journal())
			}
		},
		Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(inFile); got != "[0 10 11 12 22 23 33 34]" {
		t.Errorf("10 x replies + outputs in the file: %s", got)
	}
}

// broken is a world in which the n-th command finds the container gone.
type broken struct {
	*world
	at     int
	closed int
}

func (b *broken) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	if len(b.ran) == b.at && command != "" {
		return vocab.Output{}, fault.Newf(fault.Transient, "the container is gone")
	}
	return b.world.Execute(ctx, id, command)
}

func (b *broken) Close() error { b.closed++; return nil }

type opens func(sandbox.Opening) (attempt.Sandbox, error)

func (f opens) Open(_ context.Context, o sandbox.Opening) (attempt.Sandbox, error) { return f(o) }

// A container is kept after a fault of the model, and after its own, since it may be usable
// still; not after a stop or a normal end.
func TestAContainerIsKeptAfterATransientFault(t *testing.T) {
	unavailable := &llm.Unpaid{Err: fault.Newf(fault.Transient, "503")}
	for name, c := range map[string]struct {
		at   int // command at which the sandbox breaks
		end  error
		stop bool
		kept bool
	}{
		"the model fails":          {at: -1, end: unavailable, kept: true},
		"the sandbox fails":        {at: 1, end: unavailable, kept: true},
		"the run is stopped":       {at: -1, end: unavailable, stop: true},
		"the attempt comes to end": {at: -1},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := results.Open(t.TempDir(), results.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			said := 0
			model := models(func() (*llm.Response, error) {
				if said++; said < 3 || c.end == nil {
					r := bash("do it")
					if said == 4 {
						r = bash("submit")
					}
					return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("", r.ToolCalls...)}, Priced: true}, nil
				}
				if c.stop {
					cancel()
				}
				return nil, c.end
			})
			box := &broken{world: &world{}, at: c.at}
			var kept []io.Closer
			s := attempt.New(attempt.Config{
				Loop: newLoop(t, 20), ModelName: "test", Store: store,
				Sandboxes: opens(func(sandbox.Opening) (attempt.Sandbox, error) { return box, nil }),
				Models:    func(dataset.Instance, int) (llm.Model, error) { return model, nil },
			})
			_, err = s.Do(ctx, attempt.Attempt{
				Job: dataset.Instance{ID: "a"}, Number: 1, Report: func(vocab.Event) {},
				Reserve: runner.NewBudget(0, 0, 0).Reserve, Kept: nothing,
				Keep: func(c io.Closer) { kept = append(kept, c) },
			})
			if (err == nil) != (c.end == nil && c.at < 0) {
				t.Error(err)
			}
			if (len(kept) == 1) != c.kept || (box.closed == 0) != c.kept {
				t.Errorf("kept %d, closed %d times; want it kept: %v",
					len(kept), box.closed, c.kept)
			}
		})
	}
}

// The next try continues in the kept container, which needs no
// replay; a kept container that is not the journal's is closed.
func TestARetryContinuesInTheKeptContainer(t *testing.T) {
	for name, same := range map[string]bool{"the journal's container": true, "another": false} {
		t.Run(name, func(t *testing.T) {
			store, err := results.Open(t.TempDir(), results.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			var all []*named
			play := []scripted.Reply{bash("do 1"), bash("do 2"), bash("submit")}
			fails := true
			s := attempt.New(attempt.Config{
				Loop: newLoop(t, 20), ModelName: "test", Store: store,
				Sandboxes: opens(func(sandbox.Opening) (attempt.Sandbox, error) {
					all = append(all, &named{world: &world{}, id: fmt.Sprint("c", len(all))})
					return all[len(all)-1], nil
				}),
				Models: func(_ dataset.Instance, heard int) (llm.Model, error) {
					m := scripted.Script{"a": play}.Model("a", scripted.Config{})
					m.Skip(heard)
					return models(func() (*llm.Response, error) {
						if heard++; heard == 2 && fails {
							fails = false
							return nil, &llm.Unpaid{Err: fault.Newf(fault.Transient, "503")}
						}
						return m.Generate(t.Context(), &llm.Request{Tools: []llm.Tool{{Name: "bash"}}})
					}), nil
				},
			})
			try := tries(t, s, store)
			if _, err := try(); err == nil || all[0].closed > 0 {
				t.Fatalf("the first try: %v, closed %d times", err, all[0].closed)
			}
			if !same {
				all[0].id = "renamed"
			}
			r, err := try()
			if err != nil || r.Record.Outcome != vocab.OutcomeSubmitted || r.Record.Resumed != 1 || r.Record.Steps != 3 {
				t.Fatalf("got %v, %+v; want outcome %v, resumed 1, steps 3, no error", err, r.Record, vocab.OutcomeSubmitted)
			}
			if len(all) != map[bool]int{true: 1, false: 2}[same] || all[0].closed != 1 {
				t.Errorf("%d sandboxes, the first closed %d times", len(all), all[0].closed)
			}
			if last := all[len(all)-1]; fmt.Sprint(last.ran) != "[do 1 do 2 submit]" || last.closed != 1 {
				t.Errorf("ran %q, closed %d times; want commands run %q, closed 1", last.ran, last.closed, "[do 1 do 2 submit]")
			}
		})
	}
}

// tries returns a function that makes one try after the other, as a runner does.
func tries(t *testing.T, s *attempt.Solver, store *results.Store) func() (*results.Result, error) {
	var kept io.Closer
	return func() (*results.Result, error) {
		t.Helper()
		r, err := s.Do(t.Context(), attempt.Attempt{
			Job: dataset.Instance{ID: "a"}, Number: 1, Report: func(vocab.Event) {},
			Reserve: runner.NewBudget(0, 0, 0).Reserve,
			Keep:    func(c io.Closer) { kept = c },
			Kept:    func() io.Closer { held := kept; kept = nil; return held },
		})
		if err != nil {
			r.Record.Status, r.Record.Outcome, r.Record.Blame = "TransientFault", vocab.OutcomeInfrastructure, "transient"
			if _, err := store.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		return r, err
	}
}

// lossy is a sandbox on an engine that loses the outputs of "do 2", and may then stop it.
type lossy struct {
	*named
	losses int
	ends   bool
}

func (l *lossy) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	out, err := l.named.Execute(ctx, id, command)
	if command == "do 2" && l.losses > 0 {
		l.losses--
		return vocab.Output{}, fault.Newf(fault.Transient, "the engine is away")
	}
	return out, err
}

func (l *lossy) Alive(context.Context) error {
	if l.ends {
		return fault.Newf(fault.Transient, "the container is gone")
	}
	return nil
}

// An action with a lost output is requested again where it ran; a sandbox that
// is gone, or fails again, is closed, and another one replays the records.
func TestARetryReconnectsToTheActionUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		losses int
		ends   bool
		tries  int
		ids    []string // that were requested in each sandbox
	}{
		"it lives":       {1, false, 2, []string{"[1.1 2.1 2.1 3.1]"}},
		"it is gone":     {1, true, 2, []string{"[1.1 2.1]", "[1.1 2.1 3.1]"}},
		"it fails again": {2, false, 3, []string{"[1.1 2.1 2.1]", "[1.1 2.1 3.1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := results.Open(t.TempDir(), results.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = store.Close() })
			var all []*lossy
			s := attempt.New(attempt.Config{
				Loop: newLoop(t, 20), ModelName: "test", Store: store,
				Sandboxes: opens(func(sandbox.Opening) (attempt.Sandbox, error) {
					box := &lossy{named: &named{world: &world{}, id: fmt.Sprint("c", len(all))}}
					if all = append(all, box); len(all) == 1 {
						box.losses, box.ends = c.losses, c.ends
					}
					return box, nil
				}),
				Models: func(_ dataset.Instance, heard int) (llm.Model, error) {
					m := scripted.Script{"a": {bash("do 1"), bash("do 2"), bash("submit")}}.Model("a", scripted.Config{})
					m.Skip(heard)
					return m, nil
				},
			})
			try := tries(t, s, store)
			r, err := try()
			n := 1
			for ; err != nil && n < 5; n++ {
				r, err = try()
			}
			if err != nil || n != c.tries || r.Record.Outcome != vocab.OutcomeSubmitted || r.Record.Differences > 0 || r.Record.Attempt != 1 {
				t.Fatalf("after %d tries: %v, %+v; want %v, outcome %v, differences at most 0, attempt 1, no error",
					n, err, r.Record, c.tries, vocab.OutcomeSubmitted)
			}
			var ids []string
			for _, box := range all {
				ids = append(ids, fmt.Sprint(box.ids))
				if box.closed != 1 {
					t.Errorf("%s was closed %d times; want closed 1", box.id, box.closed)
				}
			}
			if d := cmp.Diff(c.ids, ids); d != "" {
				t.Errorf("ids (-want +got):\n%s", d)
			}
			if ran := fmt.Sprint(all[len(all)-1].ran); ran != "[do 1 do 2 submit]" {
				t.Errorf("ran %s, want commands run %q", ran, "[do 1 do 2 submit]")
			}
		})
	}
}

// named is a world with its own container.
type named struct {
	*world
	id     string
	closed int
	leaves time.Duration // how long its removal takes
}

func (n *named) Facts() sandbox.Facts {
	return sandbox.Facts{Container: n.id, Pull: time.Second, Start: time.Second}
}

func (n *named) Close() error {
	n.closed++
	time.Sleep(n.leaves)
	return errors.New("it is gone already") // which is only logged
}

func TestACostThatNobodyKnowsIsTold(t *testing.T) {
	for used, want := range map[int64]string{0: "and did not say how many tokens it used", 9: "and no price is known"} {
		model := models(func() (*llm.Response, error) {
			return &llm.Response{
				Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say("", bash("submit").ToolCalls...)},
				Usage:   vocab.Usage{Input: used},
			}, nil
		})
		for limit, where := range map[float64]string{10: "journal.jsonl", 0: "agent.log"} {
			store := attemptUnder(t, runner.NewBudget(limit, 0, 0.5), model, results.Options{})
			text, err := os.ReadFile(filepath.Join(store.Dir(), "a", where))
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("limit %v: %s has %v, %s; want %q", limit, where, err, text, want)
			}
		}
	}
}

func TestAPanicLeavesNoContainer(t *testing.T) {
	store, err := results.Open(t.TempDir(), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	box := &named{world: &world{}, id: "c"}
	s := attempt.New(attempt.Config{
		Loop: newLoop(t, 20), ModelName: "test", Store: store,
		Sandboxes: opens(func(sandbox.Opening) (attempt.Sandbox, error) { return box, nil }),
		Models: func(dataset.Instance, int) (llm.Model, error) {
			return models(func() (*llm.Response, error) { panic("a bug") }), nil
		},
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the attempt did not panic")
			}
		}()
		_, _ = s.Do(t.Context(), attempt.Attempt{
			Job: dataset.Instance{ID: "a"}, Report: func(vocab.Event) {},
			Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
		})
	}()
	if box.closed != 1 {
		t.Errorf("closed %d times, want closed 1", box.closed)
	}
}
