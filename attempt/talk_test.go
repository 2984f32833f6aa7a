package attempt_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/attempt/session"
	"batch.example/batch/dataset"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// A person thinks between the turns, and before an action is approved.
func TestAPersonsTimeIsNotThatOfAConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := results.Open(t.TempDir(), results.Options{FlushEvery: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		s := attempt.New(attempt.Config{
			Loop: newLoop(t, 20), ModelName: "test", Store: store,
			Sandboxes: opens(func(sandbox.Opening) (attempt.Sandbox, error) {
				return &named{world: &world{takes: 3 * time.Second}, id: "c"}, nil
			}),
			Models: func(dataset.Instance, int) (llm.Model, error) {
				replies := []scripted.Reply{bash("do 1"), bash("submit"), bash("submit")}
				return scripted.Script{"a": replies}.Model("a", scripted.Config{Delay: time.Minute}), nil
			},
			Talk: func(ctx context.Context, c *attempt.Conversation) error {
				for range 2 {
					time.Sleep(time.Hour)
					approve := func(context.Context, string, agent.Call) error {
						time.Sleep(5 * time.Minute)
						return nil
					}
					if _, err := c.Turn(ctx, session.Input{Words: "words", Hooks: agent.Hooks{Approve: approve}}); err != nil {
						return err
					}
				}
				time.Sleep(time.Hour)
				return nil
			},
		})
		r, err := s.Do(t.Context(), attempt.Attempt{
			Job: dataset.Instance{ID: "a"}, Report: func(vocab.Event) {},
			Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := (results.Phases{Model: 180, Commands: 9, Total: 189}); r.Record.Time != want {
			t.Errorf("%+v, want %+v", r.Record.Time, want)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
