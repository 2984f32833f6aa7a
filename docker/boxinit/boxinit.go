// Package boxinit puts process 1 of every container on an engine: a small program of
// batch's own, built from internal/boxinit by scripts/boxinit, for the machines that
// engines run on. It comes from a volume that is filled once per engine, since copying
// it into each container would cost more than starting one. The volume is named by what
// is in it, so that every version of batch has one of its own.
package boxinit

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/fault"
)

const (
	// Dir is where the volume is mounted. /dev is a tmpfs of each container's
	// own, so that the folder for it is not made in the image's files, and can be
	// made when these are read-only.
	Dir  = "/dev/batch"
	file = "init"
	// Path is where the program is in a container.
	Path = Dir + "/" + file

	volumePrefix = "batch-init-" // and the machine, and a hash
	label        = "batch.init"  // Podman leaves it out
)

// Volume is the volume with the program on one engine. It is safe for concurrent use.
type Volume struct {
	engine *engine.Conn
	fill   Fill
	turn   *semaphore.Weighted // of the one who asks the engine, or fills the volume
	there  atomic.Pointer[packed]
	fills  atomic.Int64 // that went well
}

// Fill unpacks files at [Dir] by a container of image that has the volume there and is
// never started. The engine makes the volume with it. That another process has put them
// there meanwhile is no error.
type Fill func(ctx context.Context, image string, volume mount.Mount, files io.Reader) error

// New returns the volume of an engine, which fill fills where it has to be.
func New(e *engine.Conn, fill Fill) *Volume {
	return &Volume{engine: e, fill: fill, turn: semaphore.NewWeighted(1)}
}

// Mount returns the mount by which a container has the program at [Path].
// The first call sees to it that the engine has the volume, filling it by a
// container of image when there is none. A volume that is there is trusted: see
// Refill.
func (v *Volume) Mount(ctx context.Context, image string) (mount.Mount, error) {
	p := v.there.Load()
	if p == nil {
		var err error
		if p, err = v.find(ctx, image); err != nil {
			return mount.Mount{}, err
		}
	}
	return p.mount(), nil
}

func (v *Volume) find(ctx context.Context, image string) (*packed, error) {
	const op = "looking for batch's helper on the engine"
	if err := v.turn.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer v.turn.Release(1)
	if p := v.there.Load(); p != nil {
		return p, nil
	}
	if err := v.engine.Ready(ctx); err != nil {
		return nil, err
	}
	in, err := v.engine.API.Info(ctx)
	if err != nil {
		return nil, v.engine.Blame(err, fault.Transient, op)
	}
	p, err := packedFor(in.OSType, in.Architecture)
	if err != nil {
		return nil, err
	}
	_, err = v.engine.API.VolumeInspect(ctx, p.volume)
	if errdefs.IsNotFound(err) {
		err = v.put(ctx, image, p)
	}
	if err != nil {
		return nil, v.engine.Blame(err, fault.Transient, op)
	}
	v.there.Store(p)
	return p, nil
}

// Refill puts the helper where it is not, or not whole: the volume was
// removed, or who filled it was killed, or has not come to its end. Those who
// call at the same time share one filling. What runs is not disturbed.
func (v *Volume) Refill(ctx context.Context, image string) error {
	before := v.fills.Load()
	if _, err := v.Mount(ctx, image); err != nil {
		return err
	}
	if err := v.turn.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer v.turn.Release(1)
	if v.fills.Load() != before {
		return nil
	}
	return v.put(ctx, image, v.there.Load())
}

// put writes the program into the volume.
func (v *Volume) put(ctx context.Context, image string, p *packed) error {
	files, err := p.archive()
	if err != nil {
		return fault.New(fault.Bug, "packing batch's helper", err)
	}
	writable := p.mount()
	writable.ReadOnly = false
	if err = v.fill(ctx, image, writable, files); err == nil {
		v.fills.Add(1)
	}
	return err
}

// Lacks reports whether a container could not start because the helper
// is not in the volume or cannot be run. Engines tell it by words only. Where
// they find out later, the container ends at once.
func Lacks(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	if !strings.Contains(text, Path) && !strings.Contains(text, "open executable") { // crun names no path there
		return false
	}
	for _, words := range []string{"no such file", "not found", "exec format error", "text file busy", "permission denied"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// Remove removes the volumes with the helper, those of other versions of
// batch included, that no container has. It reports whether there was one to
// remove. The next container gets a new one.
func (v *Volume) Remove(ctx context.Context) (bool, error) {
	const op = "removing the volume with batch's helper"
	if err := v.engine.Ready(ctx); err != nil {
		return false, err
	}
	list, err := v.engine.API.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", volumePrefix))})
	if err != nil {
		return false, v.engine.Blame(err, fault.Transient, op)
	}
	removed := false
	var errs []error
	for _, had := range list.Volumes {
		if !strings.HasPrefix(had.Name, volumePrefix) { // the filter finds it anywhere in a name
			continue
		}
		err := v.engine.API.VolumeRemove(ctx, had.Name, false)
		removed = removed || err == nil
		if !errdefs.IsConflict(err) && !errdefs.IsNotFound(err) { // in use, or gone
			errs = append(errs, v.engine.Blame(err, fault.Transient, op))
		}
	}
	return removed, errors.Join(errs...)
}
