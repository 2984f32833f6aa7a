package session_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"batch.example/batch/attempt/session"
	"batch.example/batch/fault"
	"batch.example/batch/journal"
	"batch.example/batch/llm"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// unreliable is a model that fails in all ways, or answers at any cost.
type unreliable struct {
	*rand.Rand
	base llm.Model
}

func (m unreliable) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	for try := 1; ; try++ {
		switch n := m.IntN(10); {
		case n < 2 && try < 5: // it is tried again
			req.Repeating(llm.Repeat{Try: try + 1, Unpaid: n == 0})
			if err := req.Trying(); err != nil {
				return nil, err
			}
			continue
		case n == 2:
			return nil, fault.New(fault.Transient, "", &llm.Unpaid{Err: errors.New("refused")})
		case n == 3 && try == 1:
			return nil, fault.New(fault.Transient, "", errors.New("the connection broke"))
		case n == 4:
			panic("a bug")
		}
		resp, err := m.base.Generate(ctx, req)
		if err == nil {
			resp.Cost = float64(m.IntN(100)) / 64
			if m.IntN(4) == 0 {
				resp.Cost, resp.Priced = 0, false
			}
		}
		return resp, err
	}
}

// A later run learns only from the journal how much money this one has spent.
func TestTheBudgetAndTheJournalAgree(t *testing.T) {
	for seed := range uint64(40) {
		k := newScene(t, tools(), runs("1"), runs("2"), runs("3"), says("a"), runs("4"), runs("5"), says("b"), says("c"), says("d"), says("e"))
		model, budget := unreliable{rand.New(rand.NewPCG(seed, 1)), k.model}, runner.NewBudget(0, 0, 0)
		budget.Guess(0.5)
		for turn := range 4 {
			k.with(func(s *session.Session) {
				defer func() { _ = recover() }() // it may panic
				_, _ = s.Turn(k.Context(), session.Input{
					Words: fmt.Sprint("turn ", turn), Env: k.env, Model: model,
					Reserve: func(ctx context.Context) (session.Reservation, error) { return budget.Reserve(ctx) },
				})
			})
			files, err := filepath.Glob(filepath.Join(k.dir, "*", "*.jsonl"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			tail, err := journal.ReadTail(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if a, b := tail.Last.SpentSoFar(), budget.Spent(); math.Abs(a-b) > 1e-9 {
				t.Fatalf("seed %d, turn %d: the journal has $%v, the budget $%v", seed, turn, a, b)
			}
		}
	}
}

// A reply of unknown cost ends the turn that it belongs to, since the turn may have reached its
// limit. Later turns have a limit of their own.
func TestACostThatIsNotKnownEndsItsTurnOnly(t *testing.T) {
	k := newScene(t, tools(), runs("1"), runs("2"), runs("3"), says("done"), runs("4"), says("done"), runs("5"), says("done"))
	k.limit = 10
	turn := func() session.Result {
		var res *session.Result
		k.with(func(s *session.Session) {
			var err error
			if res, err = s.Turn(k.Context(), session.Input{Words: "continue", Model: k.model, Env: k.env}); err != nil {
				t.Fatal(err)
			}
		})
		return *res
	}
	turn()
	before := len(k.model.asked)
	k.model.unknown = true
	if res := turn(); res.Ending.Status != vocab.StatusLimitsExceeded || len(k.model.asked) != before+1 {
		t.Errorf("the turn ended as %s after %d calls, want %s after 1", res.Ending.Status, len(k.model.asked)-before, vocab.StatusLimitsExceeded)
	}
	k.model.unknown = false
	if res := turn(); res.Ending.Status != vocab.StatusAnswered {
		t.Errorf("the next turn ended as %s", res.Ending.Status)
	}
}
