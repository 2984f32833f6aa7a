package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// older is an engine with the container c of a killed process, in which each command ends with broken.
// Attaching to it ends with held.
type older struct {
	engine.Engine
	broken  error
	held    error
	removed []string
	closed  int
}

func (e *older) Owned(context.Context) ([]engine.Owned, error) {
	return []engine.Owned{{ID: "c", Instance: "i", Attempt: "1", Lease: "/runs/a/.lock", Dead: true}}, nil
}

func (e *older) Attach(context.Context, string) (engine.Container, error) {
	if e.held != nil {
		return nil, e.held
	}
	return olderBox{e: e}, nil
}

func (e *older) Remove(_ context.Context, id string) error {
	e.removed = append(e.removed, id)
	return nil
}

type olderBox struct {
	engine.Container
	e *older
}

func (b olderBox) Run(context.Context, box.Command) (vocab.Output, error) {
	return vocab.Output{}, b.e.broken
}

func (b olderBox) Close() { b.e.closed++ }

// A container that cannot run a command is replaced; one that another process may use stays.
func TestAContainerIsTakenOverOrReplaced(t *testing.T) {
	held := fault.New(fault.Transient, "attaching", engine.ErrHeld)
	for _, e := range []*older{{}, {broken: errors.New("no bash")}, {held: held}} {
		h, err := inherit(t.Context(), e, Config{Lease: "/runs/a/.lock", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.take(t.Context(), Opening{Instance: dataset.Instance{ID: "i"}, Attempt: 1, Container: "c"})
		replaced := c == nil && slices.Equal(e.removed, []string{"c"}) && e.closed == 1
		if !errors.Is(err, e.held) || replaced != (e.broken != nil) || e.held != nil && len(e.removed) > 0 {
			t.Errorf("a command gives %v, attaching %v: got %v, %v; removed %q, closed %d times", e.broken, e.held, c, err, e.removed, e.closed)
		}
	}
}
