package sandbox

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
)

// Cleaned is what dead runs left on an engine.
type Cleaned struct {
	Strays []containers.Stray // by when they were made
	Kept   int                // containers of other runs
	Shared bool               // what containers share was removed too
}

// Clean removes what dead runs left, and what containers share where none is left that
// may use it; a dry run only looks. What could not be removed is in the error. There is
// no Cleaned when the engine does not answer.
func Clean(ctx context.Context, c docker.Config, dry bool) (*Cleaned, error) {
	engine, err := docker.Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	owned, err := engine.Owned(ctx)
	if err != nil {
		return nil, err
	}
	found := &Cleaned{Strays: slices.DeleteFunc(slices.Clone(owned), func(s containers.Stray) bool { return !s.Abandoned })}
	if !dry {
		var reapErr, netErr, initErr error
		var network, helper bool
		found.Strays, reapErr = engine.Reap(ctx)
		network, netErr = engine.RemoveNetwork(ctx)
		helper, initErr = engine.Init.Remove(ctx)
		found.Shared, err = network || helper, errors.Join(reapErr, netErr, initErr)
	}
	slices.SortFunc(found.Strays, func(a, b containers.Stray) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	found.Kept = len(owned) - len(found.Strays)
	return found, err
}
