package attempt_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// slowly is a sandbox with a slow scrub, which ends as a test sets.
type slowly struct {
	*world
	scrub  time.Duration
	fails  bool
	during func(began bool)
	broken int // scrubs that were canceled
	closed bool
}

func (s *slowly) Script(ctx context.Context, script string) (vocab.Output, error) {
	if !strings.HasSuffix(script, " scrub") {
		return vocab.Output{Bytes: []byte("gitscrub: kept, 0 refs, 0 objects\n")}, nil
	}
	if s.during != nil {
		s.during(true)
		defer s.during(false)
	}
	select {
	case <-time.After(s.scrub):
	case <-ctx.Done():
		s.broken++
		return vocab.Output{}, context.Cause(ctx)
	}
	if s.fails {
		return vocab.Output{ExitCode: 1, Bytes: []byte("no room")}, nil
	}
	return vocab.Output{Bytes: []byte("gitscrub: scrubbed, 1 refs, 2 objects\n")}, nil
}

func (s *slowly) Close() error { s.closed = true; return nil }

// beside is an attempt in box with a model that takes 3 s for each reply.
type beside struct {
	t      *testing.T
	store  *results.Store
	config attempt.Config
	tries  []vocab.Event
}

func newBeside(t *testing.T, box func(sandbox.Opening) (attempt.Sandbox, error), replies ...scripted.Reply) *beside {
	t.Helper()
	store, err := results.Open(t.TempDir(), results.Options{FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return &beside{t: t, store: store, config: attempt.Config{
		Loop: newLoop(t, 20), ModelName: "test", Store: store, ScrubGitHistory: true, Sandboxes: opens(box),
		Models: func(in dataset.Instance, heard int) (llm.Model, error) {
			return scripted.Script{"*": replies[heard:]}.Model(in.ID, scripted.Config{Delay: 3 * time.Second}), nil
		},
	}}
}

func (b *beside) solve(ctx context.Context, s *attempt.Solver, id string) (*results.Result, error) {
	return s.Do(ctx, attempt.Attempt{
		Job: dataset.Instance{ID: id}, Report: func(p vocab.Event) { b.tries = append(b.tries, p) },
		Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
	})
}

// records are the types of the journal's records, in order.
func (b *beside) records(id string) []string {
	b.t.Helper()
	list, _, err := journal.Read(filepath.Join(b.store.Dir(), id, "journal.jsonl"))
	if err != nil {
		b.t.Fatal(err)
	}
	types := make([]string, len(list))
	for i, r := range list {
		types[i] = r.Type
	}
	return types
}

// refuses is a model that never answers.
type refuses struct{ err error }

func (r refuses) Generate(context.Context, *llm.Request) (*llm.Response, error) { return nil, r.err }

func TestTheScrubRunsDuringTheFirstCallOutsideTheAgentsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := &slowly{world: &world{takes: time.Second}, scrub: 10 * time.Second}
		b := newBeside(t, func(sandbox.Opening) (attempt.Sandbox, error) { return box, nil }, bash("do 1"), bash("submit"))
		r, err := b.solve(t.Context(), attempt.New(b.config), "a")
		if err != nil {
			t.Fatal(err)
		}
		want := results.Phases{Scrub: 10, ScrubWait: 7, Prepare: 7, Model: 6, Commands: 2, Total: 15}
		if r.Record.Time != want {
			t.Errorf("%+v, want %+v", r.Record.Time, want)
		}
		types := b.records("a")
		begin := []string{
			journal.TypeAttempt, journal.TypeSession, journal.TypeTurn, journal.TypeMessages, journal.TypeRequest, journal.TypeReply, journal.TypeMessages,
			journal.TypeContainer, journal.TypeAction,
		}
		if got := types[:slices.Index(types, journal.TypeAction)+1]; !slices.Equal(got, begin) {
			t.Errorf("got %q, want %q", got, begin)
		}
		if h, err := b.store.History("a"); err != nil || h.Elapsed != 8*time.Second {
			t.Errorf("worked %v, %v; want elapsed %v, no error", h.Elapsed, err, 8*time.Second)
		}
		shown := slices.ContainsFunc(b.tries, func(p vocab.Event) bool { return p.Phase == "prepare" && p.Step == 1 })
		if !shown {
			t.Errorf("got %+v, want shown true", b.tries)
		}
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// However the first call ends, the fault of the scrub is the attempt's,
// and no action runs.
func TestAFailedScrubDuringTheFirstCallIsAnInstanceFault(t *testing.T) {
	for name, c := range map[string]struct {
		reply scripted.Reply
		lost  error // error in place of the reply
		takes time.Duration
	}{
		"before the reply":            {bash("do 1"), nil, time.Second},
		"after the reply":             {bash("do 1"), nil, time.Minute},
		"and the agent does not act":  {scripted.Reply{Content: "no command"}, nil, time.Second},
		"and the call fails as well":  {scripted.Reply{}, fault.Newf(fault.Transient, "the provider is away"), time.Minute},
		"and the call ends the agent": {scripted.Reply{}, llm.ErrContextLength, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := &slowly{world: &world{}, scrub: c.takes, fails: true}
				b := newBeside(t, func(sandbox.Opening) (attempt.Sandbox, error) { return box, nil }, c.reply)
				if c.lost != nil {
					b.config.Models = func(dataset.Instance, int) (llm.Model, error) { return refuses{c.lost}, nil }
				}
				r, err := b.solve(t.Context(), attempt.New(b.config), "a")
				if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), "no room") || !strings.Contains(fault.HintOf(err), "--keep-git-history") {
					t.Errorf("got a fault of kind %v: %v, want an Instance fault with %q, %q",
						fault.KindOf(err), err, "no room", "--keep-git-history")
				}
				if len(box.ran) > 0 || !box.closed || r.Salvage != nil || slices.Contains(b.records("a"), journal.TypeContainer) {
					t.Errorf("ran %q, closed %t, records %q; want nothing run, closed, and no container recorded", box.ran, box.closed, b.records("a"))
				}
				if err := b.store.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A container is recorded only when its scrub has ended: no resume takes over another.
func TestTheContainerOfACancelledScrubIsNotUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		box := &slowly{world: &world{}, scrub: time.Hour}
		b := newBeside(t, func(o sandbox.Opening) (attempt.Sandbox, error) {
			asked = append(asked, o.Container)
			return box, nil
		}, bash("do 1"), bash("submit"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // the model has answered
		defer cancel()
		s := attempt.New(b.config)
		if _, err := b.solve(ctx, s, "a"); !errors.Is(err, context.DeadlineExceeded) || box.broken != 1 || !box.closed {
			t.Errorf("got %v, %d scrubs canceled, closed %t", err, box.broken, box.closed)
		}
		if types := b.records("a"); slices.Contains(types, journal.TypeContainer) || slices.Contains(types, journal.TypeAction) {
			t.Errorf("got %q, want no %v in the events, no %v in the events", types, journal.TypeContainer, journal.TypeAction)
		}
		if h, err := b.store.History("a"); err != nil || h.Container != nil || h.Elapsed != 3*time.Second {
			t.Errorf("got %+v, %v; want container nil, elapsed %v, no error", h, err, 3*time.Second)
		}
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(asked, []string{""}) {
			t.Errorf("asked for %q, want requests %v", asked, []string{""})
		}
	})
}

func TestConcurrentScrubsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, most := 0, 0
		during := func(began bool) { // one goroutine at a time runs between two sleeps of the bubble's clock, or the race detector reports it
			if began {
				at++
			} else {
				at--
			}
			most = max(most, at)
		}
		mu := make(chan struct{}, 1)
		b := newBeside(t, func(sandbox.Opening) (attempt.Sandbox, error) {
			return &slowly{world: &world{}, scrub: time.Second, during: func(began bool) {
				mu <- struct{}{}
				during(began)
				<-mu
			}}, nil
		}, bash("submit"))
		b.config.Scrubs = 2
		s := attempt.New(b.config)
		done := make(chan error)
		ids := []string{"a", "b", "c", "d", "e", "f"}
		for _, id := range ids {
			go func() {
				_, err := s.Do(t.Context(), attempt.Attempt{
					Job: dataset.Instance{ID: id}, Report: func(vocab.Event) {},
					Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
				})
				done <- err
			}()
		}
		for range ids {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if most != 2 {
			t.Errorf("got %d at once, want most 2", most)
		}
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
}
