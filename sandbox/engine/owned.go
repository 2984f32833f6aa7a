package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"batch.example/batch/internal/owner"
)

// StateRunning is the [Owned.State] of a container that runs, on any engine.
const StateRunning = "running"

// expiryGrace is how long an unknown process may take to remove a container
// that has reached its deadline.
const expiryGrace = time.Minute

// Judge sets Host, Mine, Dead, Unseen and Abandoned, from the other fields and the container's creator,
// an [owner.Owner] as a string. me is this process; local means that the engine is on its
// machine.
func (o *Owned) Judge(creator string, me owner.Owner, local bool, now time.Time) {
	o.Mine = creator == me.String()
	by, _ := owner.Parse(creator) // an invalid one is unknown
	o.Host = by.Host
	known := by.Liveness(me, local)
	if known == owner.Unknown {
		if holder, seen := owner.HolderOf(o.Lease, me, local); seen && holder == owner.Dead {
			known = owner.Dead
		}
	}
	o.Unseen = known == owner.Unknown
	o.Decide(known, func() owner.Liveness {
		holder, _ := owner.HolderOf(o.Lease, me, local)
		return holder
	}, now)
}

// Decide sets Dead and Abandoned, from what is known about the container's creator, and about the
// holder of its lease, which matters if the creator is dead.
func (o *Owned) Decide(creator owner.Liveness, holder func() owner.Liveness, now time.Time) {
	known := creator
	if o.Dead = known == owner.Dead; o.Dead {
		known = holder()
	}
	switch known {
	case owner.Dead:
		o.Abandoned = true
	case owner.Alive:
		o.Abandoned = false
	case owner.Unknown:
		o.Abandoned = o.State != StateRunning && !o.Expires.IsZero() && now.After(o.Expires.Add(expiryGrace))
	}
}

// Under reports whether the container's lease is in leases, or leases is empty.
func (o Owned) Under(leases []string) bool {
	return len(leases) == 0 || slices.ContainsFunc(leases, func(mine string) bool { return owner.SameLease(o.Lease, mine) })
}

// Inherited lists the containers of earlier owners under a lease that this process holds; with an
// empty lease, none. This process may take them over or remove them.
func Inherited(ctx context.Context, e Engine, lease string) ([]Owned, error) {
	return under(ctx, e, lease, func(o Owned) bool { return o.fallsTo(lease) })
}

// Leftovers lists the containers of this process and of earlier owners under a lease that this process
// holds, for when no instance runs any more; with an empty lease, none. A container that was being
// created for a killed process may appear late.
func Leftovers(ctx context.Context, e Engine, lease string) ([]Owned, error) {
	return under(ctx, e, lease, func(o Owned) bool { return o.fallsTo(lease) || o.Mine })
}

// fallsTo reports whether the holder of a lease knows that the container's creator is dead: of one that
// it cannot see, because it has the lease of the same directory.
func (o Owned) fallsTo(lease string) bool { return o.Dead || o.Unseen && owner.OfDir(o.Lease, lease) }

func under(ctx context.Context, e Engine, lease string, want func(Owned) bool) ([]Owned, error) {
	if lease == "" {
		return nil, nil
	}
	all, err := e.Owned(ctx)
	return slices.DeleteFunc(all, func(o Owned) bool { return !o.Under([]string{lease}) || !want(o) }), err
}

const (
	reapers   = 4                // containers removed at the same time
	reapLimit = 30 * time.Second // for one of them
)

// Reap removes the abandoned containers in any state, with leases only under one of these, and
// returns the removed ones. If a container cannot be removed, it continues and joins the errors. A
// container that the engine was still creating when its process was killed may appear later: the
// next Reap finds it.
func Reap(ctx context.Context, e Engine, log *slog.Logger, leases ...string) ([]Owned, error) {
	return reap(ctx, e, log, func(o Owned) bool { return o.Under(leases) })
}

// ReapDead is Reap without containers in which an agent of its own may go on and wait for a resume of its run:
// these end by themselves.
func ReapDead(ctx context.Context, e Engine, log *slog.Logger) ([]Owned, error) {
	return reap(ctx, e, log, func(o Owned) bool { return !o.Program || o.State != StateRunning })
}

func reap(ctx context.Context, e Engine, log *slog.Logger, want func(Owned) bool) ([]Owned, error) {
	all, err := e.Owned(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var removed []Owned
	var errs []error
	var g errgroup.Group
	g.SetLimit(reapers)
	for _, o := range all {
		if !o.Abandoned || !want(o) {
			continue
		}
		g.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, reapLimit)
			defer cancel()
			err := e.Remove(limited, o.ID)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return nil
			}
			log.Info("removed an abandoned container", "container", o.ID, "run", o.Run, "instance", o.Instance)
			removed = append(removed, o)
			return nil
		})
	}
	_ = g.Wait() // the errors are collected
	return removed, errors.Join(errs...)
}
