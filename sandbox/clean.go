package sandbox

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"batch.example/batch/docker/containers"
)

// Cleaned is what crashed runs left on an engine.
type Cleaned struct {
	Abandoned []containers.Summary // the oldest first
	Kept      int                  // containers of other runs
	Histories Kept                 // removed, or in a dry run to remove
	Shared    bool                 // the shared network, or a volume that containers share, was removed too
}

// Clean removes the containers that crashed runs left, and the network and the volumes that
// containers share if no container uses them. With leases, only containers under these count
// as left. A dry run removes nothing. The error names
// what could not be removed. Cleaned is nil if the engine does not answer.
func (s *Stock) Clean(ctx context.Context, leases []string, dry bool) (*Cleaned, error) {
	engine := s.engine
	owned, err := engine.Owned(ctx)
	if err != nil {
		return nil, err
	}
	found := &Cleaned{Abandoned: slices.DeleteFunc(slices.Clone(owned), func(s containers.Summary) bool {
		return !s.Abandoned || !s.Under(leases)
	})}
	if dry {
		if len(leases) == 0 {
			found.Histories, err = s.Kept(ctx)
		}
	} else {
		var reapErr, netErr, initErr error
		var network, helper, histories bool
		found.Abandoned, reapErr = engine.Reap(ctx, leases...)
		network, netErr = engine.RemoveNetwork(ctx)
		helper, initErr = engine.Init.Remove(ctx)
		var keep []string
		if len(leases) > 0 {
			for _, h := range s.ledger.Histories() {
				keep = append(keep, h.Volume)
			}
		} else {
			found.Histories, _ = s.Kept(ctx) // an engine that cannot say it cannot remove them either
		}
		histories, err = engine.ReapVolumes(ctx, keep)
		found.Shared, err = network || helper || histories, errors.Join(reapErr, netErr, initErr, err)
	}
	slices.SortFunc(found.Abandoned, func(a, b containers.Summary) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	found.Kept = len(owned) - len(found.Abandoned)
	return found, err
}
