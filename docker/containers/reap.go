package containers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"golang.org/x/sync/errgroup"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/docker/internal/owner"
	"batch.example/batch/fault"
)

// Summary describes a container that a batch process created.
type Summary struct {
	ID       string
	Name     string
	Image    string
	Run      string
	Instance string
	Attempt  string
	Host     string // the machine of the process that created it
	State    string // as the engine calls it: created, running, exited, ...
	Created  time.Time
	Expires  time.Time // zero when it has no deadline

	// Abandoned means that no process will remove the container. Either the process that
	// created it is dead; or nothing is known about that process, since it is on another
	// machine or in another container, and the container has ended and its deadline
	// passed a while ago. A container that still runs after its deadline is not abandoned:
	// the clock of this machine or of the one that created it is wrong, and the container
	// may be in use. A container whose creator is known to live, or whose lease a living
	// process holds, is never abandoned.
	Abandoned bool

	lease     string
	ownerDead bool // the process that created it is dead, and was on this machine
	mine      bool // this process created it
}

// expiryGrace is how long an unknown process may take to remove a container
// that has reached its deadline.
const expiryGrace = time.Minute

// reapers is how many containers are removed at the same time.
const reapers = 4

// Owned lists the containers that any batch process created on this engine, running
// or not.
func (f *Fleet) Owned(ctx context.Context) ([]Summary, error) {
	if err := f.engine.Ready(ctx); err != nil {
		return nil, err
	}
	list, err := f.engine.API.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", LabelOwner)),
	})
	if err != nil {
		return nil, f.engine.Blame(err, fault.Transient, "listing containers")
	}
	now := time.Now()
	out := make([]Summary, 0, len(list))
	for _, c := range list {
		out = append(out, f.summarize(c, now))
	}
	return out, nil
}

func (f *Fleet) summarize(c container.Summary, now time.Time) Summary {
	s := Summary{
		ID: c.ID, Image: cmp.Or(c.Labels[LabelImage], c.Image), State: c.State, Created: time.Unix(c.Created, 0),
		Run: c.Labels[LabelRun], Instance: c.Labels[LabelInstance], Attempt: c.Labels[LabelAttempt],
	}
	if len(c.Names) > 0 {
		s.Name = strings.TrimPrefix(c.Names[0], "/")
	}
	if t, err := time.Parse(time.RFC3339, c.Labels[LabelExpires]); err == nil {
		s.Expires = t
	}
	s.lease = c.Labels[LabelLease]
	s.mine = c.Labels[LabelOwner] == f.owner.String()
	o, _ := owner.Parse(c.Labels[LabelOwner]) // an invalid label gives an unknown owner
	s.Host = o.Host
	local := strings.HasPrefix(f.engine.Host, "unix://")
	switch o.Liveness(f.owner, local) {
	case owner.Dead:
		s.ownerDead = true
		s.Abandoned = !owner.HoldsLease(s.lease, f.owner, local)
	case owner.Unknown:
		s.Abandoned = s.State != container.StateRunning && !s.Expires.IsZero() && now.After(s.Expires.Add(expiryGrace))
	}
	return s
}

// Reap removes the abandoned containers, in any state, and
// returns those it removed. It continues after one that cannot be removed and
// joins the errors. A container that the engine was still creating when its
// process was killed may appear after Reap has listed them: the next Reap finds it. With
// leases, only the containers under these are removed.
func (f *Fleet) Reap(ctx context.Context, leases ...string) ([]Summary, error) {
	all, err := f.Owned(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var removed []Summary
	var errs []error
	var g errgroup.Group
	g.SetLimit(reapers)
	for _, s := range all {
		if !s.Abandoned || !s.Under(leases) {
			continue
		}
		g.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, engine.RemoveLimit)
			defer cancel()
			_, err := f.remove(limited, s.ID, f.plugs)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return nil
			}
			f.engine.Log.Info("removed an abandoned container", "container", s.ID[:12], "run", s.Run, "instance", s.Instance)
			removed = append(removed, s)
			return nil
		})
	}
	_ = g.Wait() // the errors are collected
	return removed, errors.Join(errs...)
}

// Under reports whether the container's lease is one of leases, or there are none.
func (s Summary) Under(leases []string) bool {
	return len(leases) == 0 || slices.Contains(leases, s.lease)
}

// LabelLease names a file, by its absolute path on the machine of the owner.
// The labels of a container cannot be changed, so a process that takes over a
// container of a dead process cannot put its own name into LabelOwner. It writes its
// [Owner] as a line into this file instead: a container whose owner is dead is not
// abandoned while its lease names a living process. The caller sets the label
// in [Spec.Labels] and makes sure that the file names one process at a time.
const LabelLease = "batch.lease"

// Owner names this process, as LabelOwner of its containers does.
func Owner() string { return owner.Self().String() }

// Inherited lists the containers of dead owners under the lease at path, which this
// process must hold; with an empty path, none. This process may take them over or remove
// them.
func (f *Fleet) Inherited(ctx context.Context, path string) ([]Summary, error) {
	if path == "" {
		return nil, nil
	}
	all, err := f.Owned(ctx)
	return slices.DeleteFunc(all, func(s Summary) bool { return s.lease != path || !s.ownerDead }), err
}

// Leftovers lists the containers of this process and of dead owners under the lease at
// path, which this process must hold: what is left when no instance runs any
// more; with an empty path, none. A container that was being created for a killed process
// may appear late.
func (f *Fleet) Leftovers(ctx context.Context, path string) ([]Summary, error) {
	if path == "" {
		return nil, nil
	}
	all, err := f.Owned(ctx)
	return slices.DeleteFunc(all, func(s Summary) bool { return s.lease != path || !s.ownerDead && !s.mine }), err
}

// Remove kills and removes the container with the given id, as
// [Container.Remove] does.
func (f *Fleet) Remove(ctx context.Context, id string) error {
	_, err := f.remove(ctx, id, f.plugs)
	return err
}

// Rename gives the container with the given id another name.
func (f *Fleet) Rename(ctx context.Context, id, name string) error {
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	err := f.engine.API.ContainerRename(ctx, id, name)
	return f.engine.Blame(err, fault.Transient, "renaming a container")
}
