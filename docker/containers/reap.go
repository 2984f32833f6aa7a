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

// Stray is a container that some batch process made.
type Stray struct {
	ID       string
	Name     string
	Image    string
	Run      string
	Instance string
	Attempt  string
	Host     string // the machine of the process that made it
	State    string // as the engine calls it: created, running, exited, ...
	Created  time.Time
	Expires  time.Time // zero when it has no deadline

	// Abandoned tells that nobody will remove it: the process that made it is
	// dead; or nothing is known of that process, since it is another machine's or
	// another container's, its deadline passed a while ago, and it has ended. One that
	// runs past its deadline has not reached it by the engine's clock: the clock
	// of the machine that made it, or ours, is wrong, and somebody may be at work in
	// it. What a process made that is known to live, or has the lease of, is
	// never abandoned.
	Abandoned bool

	lease     string
	ownerDead bool // and of this machine
	mine      bool // this process made it
}

// expiryGrace is what a process of which nothing is known gets to remove a container
// that has reached its deadline.
const expiryGrace = time.Minute

// reapers is how many containers are removed at the same time.
const reapers = 4

// Owned lists the containers that batch made on this engine, running or not,
// whichever process made them.
func (f *Fleet) Owned(ctx context.Context) ([]Stray, error) {
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
	out := make([]Stray, 0, len(list))
	for _, c := range list {
		out = append(out, f.stray(c, now))
	}
	return out, nil
}

func (f *Fleet) stray(c container.Summary, now time.Time) Stray {
	s := Stray{
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
	o, _ := owner.Parse(c.Labels[LabelOwner]) // of a label that is none, nothing is known
	s.Host = o.Host
	local := strings.HasPrefix(f.engine.Host, "unix://")
	switch o.Fate(f.owner, local) {
	case owner.Dead:
		s.ownerDead = true
		s.Abandoned = !owner.Leased(s.lease, f.owner, local)
	case owner.Unknown:
		s.Abandoned = s.State != container.StateRunning && !s.Expires.IsZero() && now.After(s.Expires.Add(expiryGrace))
	}
	return s
}

// Reap removes the abandoned containers, in whichever state they are, and
// returns those it removed. It goes on past one that cannot be removed and
// joins the errors. A container that the engine was still making when its
// process was killed may appear after Reap has looked: a later one finds it.
func (f *Fleet) Reap(ctx context.Context) ([]Stray, error) {
	all, err := f.Owned(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var removed []Stray
	var errs []error
	var g errgroup.Group
	g.SetLimit(reapers)
	for _, s := range all {
		if !s.Abandoned {
			continue
		}
		g.Go(func() error {
			limited, cancel := context.WithTimeout(ctx, engine.RemoveLimit)
			defer cancel()
			_, err := f.remove(limited, s.ID)
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

// LabelLease names a file, by its absolute path on the machine of the owner.
// The labels of a container cannot be changed, so a process that takes over
// what a dead one made cannot put its own name there. It stands in this file
// instead, as a line that is [Owner]: a container whose owner is dead is not
// abandoned while its lease names a living process. The caller sets the label
// in [Spec.Labels] and sees to it that one process at a time is in the file.
const LabelLease = "batch.lease"

// Owner names this process, as its containers' LabelOwner does.
func Owner() string { return owner.Self().String() }

// Inherited lists the containers under the lease at path, which this process
// has, that dead owners left: they are its to take over or to remove.
func (f *Fleet) Inherited(ctx context.Context, path string) ([]Stray, error) {
	all, err := f.Owned(ctx)
	return slices.DeleteFunc(all, func(s Stray) bool { return s.lease != path || !s.ownerDead }), err
}

// Leavings lists the containers under the lease at path, which this process has, of
// this process itself and of dead owners: what is left when no instance runs any
// more. A container may come late, made for a process that was killed.
func (f *Fleet) Leavings(ctx context.Context, path string) ([]Stray, error) {
	all, err := f.Owned(ctx)
	return slices.DeleteFunc(all, func(s Stray) bool { return s.lease != path || !s.ownerDead && !s.mine }), err
}

// Remove kills and removes the container with the given id, as
// [Container.Remove] does.
func (f *Fleet) Remove(ctx context.Context, id string) error {
	return (&Container{engine: f.engine, fleet: f, id: id}).Remove(ctx)
}
