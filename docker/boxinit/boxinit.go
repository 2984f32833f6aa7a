// Package boxinit provides process 1 of every container on an engine: batch's helper, a
// small program that scripts/boxinit builds from internal/boxinit for the machines that
// engines run on. It comes from a volume that is filled once per engine, because copying
// it into each container would take longer than starting one. The name of the volume
// contains a hash of the program, so every version of batch has its own volume.
//
// Its API is not promised to other programs: see package batch.
package boxinit

import (
	"context"
	"io"
	"strings"
	"sync/atomic"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
)

const (
	// Dir is where the volume is mounted. Each container has its own tmpfs at /dev, so the
	// directory is not created among the image's files, and can be created even if
	// these are read-only.
	Dir  = "/dev/batch"
	file = "init"
	// Path is where the program is in a container.
	Path = Dir + "/" + file

	volumePrefix = "batch-init-" // followed by the architecture and a hash
	label        = "batch.init"  // Podman leaves it out
)

// Volume is the volume with the program on one engine. It is safe for concurrent use.
type Volume struct {
	engine *daemon.Conn
	fill   Fill
	turn   *semaphore.Weighted // held while asking the engine or filling the volume
	found  atomic.Pointer[program]
	fills  atomic.Int64 // successful ones
}

// Fill creates a container from image with the volume mounted at [Dir], never starts it,
// and unpacks files there. The engine creates the volume with the container. It is not an
// error if another process has unpacked the files meanwhile.
type Fill func(ctx context.Context, image string, volume mount.Mount, files io.Reader) error

// New returns the volume of an engine. It calls fill when the volume must be filled.
func New(e *daemon.Conn, fill Fill) *Volume {
	return &Volume{engine: e, fill: fill, turn: semaphore.NewWeighted(1)}
}

// Mount returns the mount that gives a container the program at [Path]. The first call
// checks that the engine has the volume, and otherwise fills it through a container from
// image. It does not check the content of an existing volume: see Refill.
func (v *Volume) Mount(ctx context.Context, image string) (mount.Mount, error) {
	p := v.found.Load()
	if p == nil {
		var err error
		if p, err = v.find(ctx, image); err != nil {
			return mount.Mount{}, err
		}
	}
	return p.mount(), nil
}

func (v *Volume) find(ctx context.Context, image string) (*program, error) {
	const op = "looking for batch's helper on the engine"
	if err := v.turn.Acquire(ctx, 1); err != nil {
		return nil, context.Cause(ctx)
	}
	defer v.turn.Release(1)
	if p := v.found.Load(); p != nil {
		return p, nil
	}
	if err := v.engine.Ready(ctx); err != nil {
		return nil, err
	}
	in, err := v.engine.API.Info(ctx)
	if err != nil {
		return nil, v.engine.Blame(err, fault.Transient, op)
	}
	p, err := programFor(in.OSType, in.Architecture)
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
	v.found.Store(p)
	return p, nil
}

// Refill puts the helper into a volume where it is missing or incomplete: the volume was
// removed, or the process that filled it was killed or has not finished. Concurrent
// callers share one refill. Running containers are not disturbed.
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
	return v.put(ctx, image, v.found.Load())
}

// put writes the program into the volume.
func (v *Volume) put(ctx context.Context, image string, p *program) error {
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

// NeedsRefill reports whether err says that a container could not start because the helper
// is not in the volume or cannot be run. Engines say so only in the text of the error. If
// an engine notices it only later, the container ends at once.
func NeedsRefill(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	if !strings.Contains(text, Path) && !strings.Contains(text, "open executable") { // crun does not name the path
		return false
	}
	for _, words := range []string{"no such file", "not found", "exec format error", "text file busy", "permission denied"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// Remove removes the volumes with the helper that no container uses, also if another version
// of batch made them. It reports whether it removed one. The next container gets a
// new one.
func (v *Volume) Remove(ctx context.Context) (bool, error) {
	return v.engine.RemoveVolumes(ctx, volumePrefix, func(*volume.Volume) bool { return true })
}
