package agent

import (
	"context"
	"testing"
	"testing/synctest"

	"batch.example/batch/llm"
)

type panicking struct{}

func (panicking) Generate(context.Context, *llm.Request) (*llm.Response, error) { panic("a bug") }

func TestSessionOutlivesAPanicInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t, "id", Stores{})
		func() {
			defer func() {
				if p := recover(); p != "a bug" {
					t.Errorf("panic %v", p)
				}
			}()
			_, _ = s.Turn(t.Context(), "fix it", Turn{Model: panicking{}, Env: &env{}})
		}()
		if got := s.State(); got.Status != StatusReady || got.Error == "" {
			t.Errorf("state %+v", got)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
