package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/fault"
)

// Process 1 of a container is our helper. It comes from a volume that is filled
// once per engine, since copying it into each container would cost more than
// starting one. The volume is named by what is in it, so that every version of
// batch has one of its own.

const (
	// boxInitDir is where the volume is mounted. /dev is a tmpfs of each container's
	// own, so that the folder for it is not made in the image's files, and can be
	// made when these are read-only.
	boxInitDir  = "/dev/batch"
	boxInitFile = "init"
	boxInitPath = boxInitDir + "/" + boxInitFile

	boxInitVolume = "batch-init-" // and the machine, and a hash
	labelBoxInit  = "batch.init"  // Podman leaves it out

	// fillExpiry is when nobody is still at work in the container that a volume is filled by.
	fillExpiry = 10 * time.Minute
)

// boxInit is what is known of the helper on one engine.
type boxInit struct {
	turn  *semaphore.Weighted // of the one who asks the engine, or fills the volume
	there atomic.Pointer[packedInit]
	fills atomic.Int64 // that went well
}

// boxInit returns the mount by which a container has the helper at boxInitPath.
// The first call sees to it that the engine has the volume, filling it by a
// container of image when there is none. A volume that is there is trusted: see
// refillBoxInit.
func (e *Engine) boxInit(ctx context.Context, image string) (mount.Mount, error) {
	p := e.init.there.Load()
	if p == nil {
		var err error
		if p, err = e.findBoxInit(ctx, image); err != nil {
			return mount.Mount{}, err
		}
	}
	return p.mount(), nil
}

func (e *Engine) findBoxInit(ctx context.Context, image string) (*packedInit, error) {
	const op = "looking for batch's helper on the engine"
	if err := e.init.turn.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer e.init.turn.Release(1)
	if p := e.init.there.Load(); p != nil {
		return p, nil
	}
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	in, err := e.api.Info(ctx)
	if err != nil {
		return nil, e.blame(err, fault.Transient, op)
	}
	p, err := packedFor(in.OSType, in.Architecture)
	if err != nil {
		return nil, err
	}
	_, err = e.api.VolumeInspect(ctx, p.volume)
	if errdefs.IsNotFound(err) {
		err = e.fillBoxInit(ctx, image, p)
	}
	if err != nil {
		return nil, e.blame(err, fault.Transient, op)
	}
	e.init.there.Store(p)
	return p, nil
}

// refillBoxInit puts the helper where it is not, or not whole: the volume was
// removed, or who filled it was killed, or has not come to its end. Those who
// call at the same time share one filling. What runs is not disturbed.
func (e *Engine) refillBoxInit(ctx context.Context, image string) error {
	before := e.init.fills.Load()
	if _, err := e.boxInit(ctx, image); err != nil {
		return err
	}
	if err := e.init.turn.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer e.init.turn.Release(1)
	if e.init.fills.Load() != before {
		return nil
	}
	return e.fillBoxInit(ctx, image, e.init.there.Load())
}

// fillBoxInit writes the helper into the volume by a container of image that is
// never started. The engine makes the volume with it.
func (e *Engine) fillBoxInit(ctx context.Context, image string, p *packedInit) error {
	op := "putting batch's helper on the engine, by a container of " + image
	files, err := p.archive()
	if err != nil {
		return fault.New(fault.Bug, op, err)
	}
	if err := e.Ready(ctx); err != nil {
		return err
	}
	s := Spec{Image: image, Unattended: fillExpiry}
	writable := p.mount()
	writable.ReadOnly = false
	c := &Container{engine: e, id: "batch-" + strings.ToLower(rand.Text())} // a name will do
	_, err = e.api.ContainerCreate(context.WithoutCancel(ctx),
		&container.Config{Image: image, Entrypoint: []string{boxInitPath}, Labels: s.labels(time.Now(), e.owner)},
		&container.HostConfig{NetworkMode: networkNone, Mounts: []mount.Mount{writable}}, nil, nil, c.id)
	e.health.suspect(err)
	maybe := unanswered(err)
	if err = s.createFault(err, op); err == nil {
		err = e.api.CopyToContainer(ctx, c.id, boxInitDir, files, container.CopyToContainerOptions{})
		if err != nil && strings.Contains(err.Error(), "file exists") { // another process has put it there meanwhile
			err = nil
		}
		err = e.blame(err, fault.Transient, op)
	}
	if err = errors.Join(err, c.retract(ctx, maybe)); err == nil {
		e.init.fills.Add(1)
	}
	return err
}

// lacksBoxInit reports whether a container could not start because the helper
// is not in the volume or cannot be run. Engines tell it by words only. Where
// they find out later, the container ends at once.
func lacksBoxInit(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	if !strings.Contains(text, boxInitPath) && !strings.Contains(text, "open executable") { // crun names no path there
		return false
	}
	for _, words := range []string{"no such file", "not found", "exec format error", "text file busy", "permission denied"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// RemoveBoxInit removes the volumes with the helper, those of other versions of
// batch included, that no container has. It reports whether there was one to
// remove. The next container gets a new one.
func (e *Engine) RemoveBoxInit(ctx context.Context) (bool, error) {
	const op = "removing the volume with batch's helper"
	if err := e.Ready(ctx); err != nil {
		return false, err
	}
	list, err := e.api.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", boxInitVolume))})
	if err != nil {
		return false, e.blame(err, fault.Transient, op)
	}
	removed := false
	var errs []error
	for _, v := range list.Volumes {
		if !strings.HasPrefix(v.Name, boxInitVolume) { // the filter finds it anywhere in a name
			continue
		}
		err := e.api.VolumeRemove(ctx, v.Name, false)
		removed = removed || err == nil
		if !errdefs.IsConflict(err) && !errdefs.IsNotFound(err) { // in use, or gone
			errs = append(errs, e.blame(err, fault.Transient, op))
		}
	}
	return removed, errors.Join(errs...)
}
