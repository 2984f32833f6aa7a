package sandbox

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"batch.example/batch/sandbox/engine"
)

// Cleaned lists the leftovers of crashed runs on an engine.
type Cleaned struct {
	Abandoned []engine.Owned // the oldest first
	Kept      int            // containers of other runs
	Unseen    int            // of these, the ones whose runs may have ended, see [engine.Owned.Unseen]
	Outcomes  int64          // bytes of the outcomes of scrubs that were removed, or found in a dry run
	Shared    bool           // the shared network, or a volume that containers share, was removed too
}

// Clean removes the containers that crashed runs left, and the network and the volumes that
// containers share if no container uses them. With leases, only containers under these count
// as left. A dry run removes nothing. The error names everything that could not be removed.
// Cleaned is nil if the engine does not answer.
func (s *Stock) Clean(ctx context.Context, leases []string, dry bool) (*Cleaned, error) {
	owned, err := s.engine.Owned(ctx)
	if err != nil {
		return nil, err
	}
	found := &Cleaned{Abandoned: slices.DeleteFunc(slices.Clone(owned), func(s engine.Owned) bool {
		return !s.Abandoned || !s.Under(leases)
	})}
	if len(leases) == 0 {
		found.Outcomes = s.ledger.Outcomes()
	}
	if !dry {
		var reapErr, tidyErr, dropErr error
		var tidied, volumes bool
		found.Abandoned, reapErr = engine.Reap(ctx, s.engine, s.log, leases...)
		if t, ok := s.engine.(engine.Tidier); ok {
			tidied, tidyErr = t.Tidy(ctx)
		}
		if len(leases) == 0 {
			dropErr = s.ledger.DropOutcomes()
		}
		if v, ok := s.engine.(engine.Volumes); ok {
			volumes, err = v.ReapVolumes(ctx)
		}
		found.Shared, err = tidied || volumes, errors.Join(reapErr, tidyErr, dropErr, err)
	}
	slices.SortFunc(found.Abandoned, func(a, b engine.Owned) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	found.Kept = len(owned) - len(found.Abandoned)
	for _, o := range owned {
		if o.Unseen && !o.Abandoned {
			found.Unseen++
		}
	}
	return found, err
}
