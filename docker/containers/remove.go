package containers

import (
	"context"
	"errors"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/fault"
)

const (
	maxRemovals = 5 // times that one is begun when the engine is lost or fails in the middle of it
	removePause = 200 * time.Millisecond
	maxHung     = 2                // and when it does not answer
	lateLimit   = 10 * time.Second // for a container to appear whose create got no answer
)

// Remove kills the container and removes it with its anonymous volumes. It
// does so also when ctx is cancelled; only the wait for an engine that is away
// ends with ctx. A container that is gone already is no error.
func (c *Container) Remove(ctx context.Context) error {
	_, err := c.fleet.remove(ctx, c.id)
	c.Close()
	return err
}

// remove removes a container, again when the engine was lost, hung or failed
// meanwhile. It reports whether there was one.
func (f *Fleet) remove(ctx context.Context, id string) (there bool, err error) {
	hung := 0
	for range maxRemovals {
		over := ctx.Err() != nil
		there, err = f.removeOnce(ctx, id)
		if engine.Unanswered(err) {
			hung++
		}
		if fault.KindOf(err) != fault.Transient || over && errors.Is(err, engine.ErrOutage) || hung == maxHung {
			return there, err
		}
		if !errors.Is(err, engine.ErrOutage) { // for which Ready waits
			time.Sleep(removePause)
		}
	}
	return there, err
}

func (f *Fleet) removeOnce(ctx context.Context, id string) (there bool, err error) {
	if err := f.removals.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return false, err
	}
	defer f.removals.Release(1)
	if err := f.engine.Ready(ctx); fault.KindOf(err) == fault.Host {
		return false, err
	}
	op := "removing container " + id[:min(12, len(id))]
	for late := time.Now().Add(engine.RemoveLimit); ; time.Sleep(100 * time.Millisecond) {
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
		there = true // someone else is removing it: it is gone when they are done
	}
}

// retract removes a container that Create has given up. One whose create got no
// answer may be on its way and come after the first look for it.
func (c *Container) retract(ctx context.Context, maybe bool) error {
	late := time.Now().Add(lateLimit)
	for {
		there, err := c.fleet.remove(ctx, c.id)
		if there || err != nil || !maybe || time.Now().After(late) {
			return err
		}
		if engine.Sleep(ctx, lateLimit/50) != nil {
			return nil
		}
	}
}
