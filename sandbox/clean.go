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
	Histories Kept           // removed, or found in a dry run
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
	if dry {
		if len(leases) == 0 {
			found.Histories, err = s.Kept(ctx)
		}
	} else {
		var reapErr, tidyErr error
		var tidied, histories bool
		found.Abandoned, reapErr = engine.Reap(ctx, s.engine, s.log, leases...)
		if t, ok := s.engine.(engine.Tidier); ok {
			tidied, tidyErr = t.Tidy(ctx)
		}
		var keep []string
		if len(leases) > 0 {
			for _, h := range s.ledger.Histories() {
				keep = append(keep, h.Volume)
			}
		} else {
			found.Histories, _ = s.Kept(ctx) // an engine that cannot list them cannot remove them either
		}
		if v, ok := s.engine.(engine.Volumes); ok {
			histories, err = v.ReapVolumes(ctx, keep)
		}
		found.Shared, err = tidied || histories, errors.Join(reapErr, tidyErr, err)
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
