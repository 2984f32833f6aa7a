package solver_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/sandbox"

	"batch.example/batch/solver"
	"batch.example/batch/vocab"
)

// knowing is a sandbox that knows something of its history.
type knowing struct {
	*world
	known, shared bool // before the scrub; and after waiting for another container
	modes         []string
}

func (k *knowing) ShareScrub(context.Context) bool { return k.shared }

func (k *knowing) Scrubbed(bool, time.Duration) {}

func (k *knowing) Script(_ context.Context, script string) (vocab.Output, error) {
	for _, mode := range []string{"keep", "known", "scrub"} {
		if strings.HasSuffix(script, " "+mode) {
			k.modes = append(k.modes, mode)
		}
	}
	return vocab.Output{Bytes: []byte("gitscrub: clean, 0 refs, 0 objects\n")}, nil
}

func (k *knowing) Facts() sandbox.Facts {
	return sandbox.Facts{Container: "c", Known: k.known}
}

func TestAKnownCleanHistoryIsNotScrubbed(t *testing.T) {
	for name, c := range map[string]struct {
		known, shared bool
		want          []string
	}{
		"nothing":                           {want: []string{"keep", "scrub"}},
		"that it is clean":                  {known: true, want: []string{"known"}},
		"that it is clean, found elsewhere": {shared: true, want: []string{"keep", "known"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				box := &knowing{world: &world{}, known: c.known, shared: c.shared}
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
