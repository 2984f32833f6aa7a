package solver_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"batch.example/batch/sandbox"

	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// knowing is a sandbox that knows something of its history.
type knowing struct {
	*world
	known, scrubbed bool
	modes           []string
}

func (k *knowing) Script(_ context.Context, script string) (vocab.Output, error) {
	for _, mode := range []string{"keep", "known", "scrub"} {
		if strings.HasSuffix(script, " "+mode) {
			k.modes = append(k.modes, mode)
		}
	}
	return vocab.Output{Bytes: []byte("gitscrub: clean, 0 refs, 0 objects\n")}, nil
}

func (k *knowing) Facts() sandbox.Facts {
	return sandbox.Facts{Container: "c", Known: k.known, Scrubbed: k.scrubbed}
}

func TestAKnownCleanHistoryIsNotScrubbed(t *testing.T) {
	for name, c := range map[string]struct {
		known, scrubbed bool
		want            []string
	}{
		"nothing":              {want: []string{"keep", "scrub"}},
		"that it is clean":     {known: true, want: []string{"known"}},
		"that it was scrubbed": {scrubbed: true, want: []string{"keep"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := &knowing{world: &world{}, known: c.known, scrubbed: c.scrubbed}
				b := newBeside(t, func(sandbox.Opening) (solver.Sandbox, error) { return box, nil }, bash("submit"))
				if _, err := b.solve(t.Context(), solver.New(b.config), "a"); err != nil {
					t.Error(err)
				}
				if !slices.Equal(box.modes, c.want) {
					t.Errorf("%q, want %q", box.modes, c.want)
				}
				if err := b.store.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
