package catalogue

import (
	"context"
	"sync"

	"batch.example/batch/authority"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
)

// turnGate is the gate of an attempt's calls. A call with its own key passes the gate of that key, so that
// each person has their own limits.
type turnGate struct {
	own llm.Gate
	of  func(key string) llm.Gate

	mu   sync.Mutex
	key  string   // key of the last such call
	last llm.Gate // gate of that key
}

// Enter implements [llm.Gate]. If the gate refuses a turn's key, the fault is Transient: it must not stop the
// run.
func (g *turnGate) Enter(ctx context.Context, t *llm.Ticket) (llm.Pass, error) {
	turn := authority.From(ctx)
	if turn == nil || turn.ModelKey == "" {
		return g.own.Enter(ctx, t)
	}
	pass, err := g.gate(turn.ModelKey).Enter(ctx, t)
	if fault.KindOf(err) == fault.Host {
		err = fault.New(fault.Transient, "", err)
	}
	return pass, err
}

func (g *turnGate) gate(key string) llm.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil || g.key != key {
		g.key, g.last = key, g.of(key)
	}
	return g.last
}
