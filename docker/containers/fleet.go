// Package containers creates the containers of one Docker engine, runs commands in them
// and removes them, also after a batch process was killed. Package docker documents
// what a caller may rely on.
//
// Its API is not promised to other programs: see package batch.
package containers

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/api/types/volume"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/images"
	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

const defaultCreates = 4 // more are not faster: BenchmarkLivesAtOnce

// parallelRemovalAPI came with Docker 23.0. An older engine can hang forever when two
// containers with a network sandbox end at the same time: it takes its network's locks in two orders
// (https://github.com/moby/moby/issues/46661).
const parallelRemovalAPI = "1.42"

// Fleet is the containers of one engine. It is safe for concurrent use.
type Fleet struct {
	Init *boxinit.Volume // where their process 1 comes from

	engine   *daemon.Conn
	images   *images.Store
	owner    owner.Owner
	disks    disks
	plugged  sync.Map            // accounts whose containers need a network sandbox
	creates  *semaphore.Weighted // limits the creates at the same time
	removals *semaphore.Weighted // limits the removals; separate, so that they do not wait for creates that hang
	plugs    *semaphore.Weighted // limits the removals of containers that may have a network sandbox
	bundles  sync.Map            // of images, by name and platform
	fills    *semaphore.Weighted // held while filling the volume of a bundle
}

// New returns the containers of an engine with these images. At most creates containers
// are created at the same time, and at most as many are removed; 0 means 4.
func New(e *daemon.Conn, store *images.Store, creates int) *Fleet {
	f := &Fleet{
		engine: e, images: store, owner: owner.Self(),
		creates: daemon.AtMost(creates, defaultCreates), removals: daemon.AtMost(creates, defaultCreates),
		fills: semaphore.NewWeighted(1),
	}
	f.plugs = f.removals
	if versions.LessThan(e.API.ClientVersion(), parallelRemovalAPI) {
		f.plugs = semaphore.NewWeighted(1)
	}
	f.Init = boxinit.New(e, f.fill)
	return f
}

// fillExpiry is the time after which filling a volume has surely ended.
const fillExpiry = 10 * time.Minute

// fill implements [boxinit.Fill].
func (f *Fleet) fill(ctx context.Context, image string, volume mount.Mount, files io.Reader) error {
	return f.through(ctx, randomName(), image, nil, volume, func(id string) error {
		err := f.engine.API.CopyToContainer(ctx, id, boxinit.Dir, files, container.CopyToContainerOptions{})
		if err != nil && strings.Contains(err.Error(), "file exists") { // another process has put it there meanwhile
			err = nil
		}
		return f.engine.Blame(err, fault.Transient, "copying batch's helper to the engine through a container from "+image)
	})
}

// through creates a container that is never started, for use, and removes it. If another container has the name,
// the error is the engine's.
func (f *Fleet) through(ctx context.Context, name, image string, platform *ocispec.Platform, volume mount.Mount, use func(id string) error) error {
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	s := spec{engine.Spec{Image: image, Unattended: fillExpiry}}
	host := &container.HostConfig{NetworkMode: networkNone}
	if volume.Source != "" {
		host.Mounts = []mount.Mount{volume}
	}
	c := &Container{engine: f.engine, fleet: f, id: name} // the engine also accepts a name as the id
	_, err := f.engine.API.ContainerCreate(context.WithoutCancel(ctx),
		&container.Config{Image: image, Entrypoint: []string{boxinit.Path}, Labels: s.labels(time.Now(), f.owner)},
		host, nil, platform, c.id)
	if errdefs.IsConflict(err) {
		return err
	}
	f.engine.NoteError(err)
	unanswered := daemon.Unanswered(err)
	if err = s.createFault(err, "creating a container from "+image+" to copy files"); err == nil {
		err = use(c.id)
	}
	return errors.Join(err, c.discard(ctx, unanswered))
}

// mountOf is how a volume is mounted.
func mountOf(v engine.Volume) mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: v.Name, Target: v.Path, ReadOnly: !v.Writable,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true},
	}
}

// volumePrefix begins the names of volumes.
const volumePrefix = "batch-volume-"

// volumeExpiry is the time after which a volume of an unknown process, which no container
// uses, is taken for abandoned.
const volumeExpiry = 24 * time.Hour

// CreateVolume creates an empty volume that containers of this process may share, and
// returns its name. The caller removes it with [Fleet.RemoveVolume]. If the process is
// killed, a later [Fleet.ReapVolumes] does.
func (f *Fleet) CreateVolume(ctx context.Context) (string, error) {
	if err := f.engine.Ready(ctx); err != nil {
		return "", err
	}
	name := volumePrefix + strings.ToLower(rand.Text()[:16])
	// An engine that has begun creates the volume even if the caller hangs up.
	_, err := f.engine.API.VolumeCreate(context.WithoutCancel(ctx), volume.CreateOptions{
		Name: name, Labels: map[string]string{LabelOwner: f.owner.String()},
	})
	if err != nil {
		err = f.engine.Blame(err, fault.Transient, "creating a volume")
		return "", errors.Join(err, f.RemoveVolume(context.WithoutCancel(ctx), name))
	}
	return name, nil
}

// RemoveVolume removes a volume of [Fleet.CreateVolume]. It is not an error if the volume is
// gone. A volume that a container uses stays, for a later [Fleet.ReapVolumes].
func (f *Fleet) RemoveVolume(ctx context.Context, name string) error {
	_, err := f.engine.RemoveVolume(ctx, name)
	return err
}

// ReapVolumes removes the volumes of dead processes that no container uses, and the volumes of
// unknown processes after a day. It reports whether it removed one, and joins the errors.
func (f *Fleet) ReapVolumes(ctx context.Context) (bool, error) {
	return f.engine.RemoveVolumes(ctx, volumePrefix, func(v *volume.Volume) bool { return f.abandoned(v, time.Now()) })
}

// abandoned reports whether no process will use the volume again, if no container does.
func (f *Fleet) abandoned(v *volume.Volume, now time.Time) bool {
	o, _ := owner.Parse(v.Labels[LabelOwner]) // an invalid label gives an unknown owner
	switch o.Liveness(f.owner, strings.HasPrefix(f.engine.Host, "unix://")) {
	case owner.Dead:
		return true
	case owner.Unknown:
		created, err := time.Parse(time.RFC3339, v.CreatedAt)
		return err == nil && now.Sub(created) > volumeExpiry
	}
	return false
}
