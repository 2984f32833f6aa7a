package containers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/internal/owner"
	"batch.example/batch/internal/retry"
	"batch.example/batch/sandbox/engine"
)

const (
	maxRemovals = 5 // tries of a removal when the engine is lost or fails
	removePause = 200 * time.Millisecond
	maxHung     = 2 // tries when the engine does not answer
)

// appearing is for the container of an unanswered create, which may appear later.
var appearing = retry.Policy{First: 200 * time.Millisecond, Total: 10 * time.Second}

// Remove kills the container and removes it with its anonymous volumes. It
// does so even when ctx is canceled; only the wait for an engine that is away
// ends with ctx. It is not an error if the container is already gone.
func (c *Container) Remove(ctx context.Context) error {
	_, err := c.fleet.remove(ctx, c.id, c.turns())
	c.Close()
	return err
}

// turns limits how many containers like this one are removed at the same time.
func (c *Container) turns() *semaphore.Weighted {
	if c.unplugged {
		return c.fleet.removals
	}
	return c.fleet.plugs
}

// remove removes a container, and tries again if the engine is lost, hangs or fails
// meanwhile. It reports whether the container existed.
func (f *Fleet) remove(ctx context.Context, id string, turns *semaphore.Weighted) (there bool, err error) {
	hung := 0
	for range maxRemovals {
		canceled := ctx.Err() != nil
		there, err = f.removeOnce(ctx, id, turns)
		if daemon.Unanswered(err) {
			hung++
		}
		if fault.KindOf(err) != fault.Transient || canceled && errors.Is(err, daemon.ErrOutage) || hung == maxHung {
			return there, err
		}
		if !errors.Is(err, daemon.ErrOutage) { // after an outage, Ready waits
			time.Sleep(removePause)
		}
	}
	return there, err
}

func (f *Fleet) removeOnce(ctx context.Context, id string, turns *semaphore.Weighted) (there bool, err error) {
	if err := turns.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return false, err
	}
	defer turns.Release(1)
	if err := f.engine.Ready(ctx); fault.KindOf(err) == fault.Host {
		return false, err
	}
	op := "removing container " + id[:min(12, len(id))]
	for late := time.Now().Add(daemon.RemoveLimit); ; time.Sleep(100 * time.Millisecond) {
		err := f.engine.API.ContainerRemove(context.WithoutCancel(ctx), id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil:
			return true, nil
		case errdefs.IsNotFound(err):
			return there, nil
		case !errdefs.IsConflict(err):
			return there, f.engine.Blame(err, fault.Transient, op)
		case time.Now().After(late):
			return true, fault.New(fault.Transient, op, err)
		}
		there = true // another client is removing it: wait until it is gone
	}
}

// discard removes the container of a create that failed. If the create got no
// answer, the container may appear later, so discard looks for it several times.
func (c *Container) discard(ctx context.Context, unanswered bool) error {
	for tries := appearing.Start(); ; {
		there, err := c.fleet.remove(ctx, c.id, c.turns())
		if there || err != nil || !unanswered || !tries.Wait(ctx) {
			return err
		}
	}
}

// Owned lists the containers that any batch process created on this engine, running
// or not.
func (f *Fleet) Owned(ctx context.Context) ([]engine.Owned, error) {
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
	out := make([]engine.Owned, 0, len(list))
	for _, c := range list {
		out = append(out, f.summarize(c, now))
	}
	return out, nil
}

func (f *Fleet) summarize(c container.Summary, now time.Time) engine.Owned {
	s := engine.Owned{
		ID: c.ID, Image: cmp.Or(c.Labels[LabelImage], c.Image), State: c.State, Created: time.Unix(c.Created, 0),
		Run: c.Labels[engine.LabelRun], Instance: c.Labels[engine.LabelInstance], Attempt: c.Labels[engine.LabelAttempt],
		Program: c.Labels[engine.LabelProgram] != "",
	}
	if len(c.Names) > 0 {
		s.Name = strings.TrimPrefix(c.Names[0], "/")
	}
	if rest, taken := strings.CutPrefix(s.Name, takenPrefix); taken {
		s.Adopter, _, _ = strings.Cut(rest, "-")
	}
	if t, err := time.Parse(time.RFC3339, c.Labels[LabelExpires]); err == nil {
		s.Expires = t
	}
	s.Lease = owner.JoinLease(c.Labels[labelMachine], c.Labels[engine.LabelLease])
	s.Judge(c.Labels[LabelOwner], f.owner, strings.HasPrefix(f.engine.Host, "unix://"), now)
	return s
}

// takenPrefix begins the names of containers that a process took over from another lease: labels
// cannot be changed.
const takenPrefix = "batch-taken-"

// Adopt gives the container a name that says who has taken it over.
func (f *Fleet) Adopt(ctx context.Context, id, lease string) error {
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	err := f.engine.API.ContainerRename(ctx, id, fmt.Sprintf("%s%s-%.12s", takenPrefix, owner.Adopter(lease), id))
	return f.engine.Blame(err, fault.Transient, "renaming a container")
}

// Remove kills and removes the container with the given id, as
// [Container.Remove] does.
func (f *Fleet) Remove(ctx context.Context, id string) error {
	_, err := f.remove(ctx, id, f.plugs)
	return err
}
