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
type older struct {
	engine.Engine
	broken  error
	removed []string
	closed  int
}

func (e *older) Owned(context.Context) ([]engine.Owned, error) {
	return []engine.Owned{{ID: "c", Instance: "i", Attempt: "1", Lease: "/runs/a/.lock", Dead: true}}, nil
}

func (e *older) Attach(context.Context, string) (engine.Container, error) { return olderBox{e: e}, nil }

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

func TestAContainerThatCannotRunACommandIsReplaced(t *testing.T) {
	for _, broken := range []error{nil, errors.New("no bash")} {
		e := &older{broken: broken}
		h, err := inherit(t.Context(), e, Config{Lease: "/runs/a/.lock", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := h.take(t.Context(), Opening{Instance: dataset.Instance{ID: "i"}, Attempt: 1, Container: "c"})
		replaced := c == nil && slices.Equal(e.removed, []string{"c"}) && e.closed == 1
		if err != nil || replaced != (broken != nil) {
			t.Errorf("a command gives %v: got %v, %v; removed %q, closed %d times", broken, c, err, e.removed, e.closed)
		}
	}
}

// held is an engine on which another process may use the container.
type held struct{ older }

func (*held) Attach(context.Context, string) (engine.Container, error) {
	return nil, fault.New(fault.Transient, "attaching", engine.ErrHeld)
}

func TestAContainerThatAnotherProcessMayUseStays(t *testing.T) {
	e := &held{}
	h, err := inherit(t.Context(), e, Config{Lease: "/runs/a/.lock", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.take(t.Context(), Opening{Instance: dataset.Instance{ID: "i"}, Attempt: 1, Container: "c"})
	if !errors.Is(err, engine.ErrHeld) || len(e.removed) > 0 {
		t.Errorf("got %v, removed %q; want an error, and nothing removed", err, e.removed)
	}
}
