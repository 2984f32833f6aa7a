package containers

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"batch.example/batch/docker/internal/owner"
	"batch.example/batch/fault"
)

// Volume is a volume of [Fleet.CreateVolume] in a container.
type Volume struct {
	Name     string
	Path     string // where it is mounted
	Writable bool
}

func (v Volume) mount() mount.Mount {
	return mount.Mount{
		Type: mount.TypeVolume, Source: v.Name, Target: v.Path, ReadOnly: !v.Writable,
		VolumeOptions: &mount.VolumeOptions{NoCopy: true},
	}
}

// volumePrefix begins the names of volumes: Podman does not filter by labels that the
// engine creates a volume with.
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
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	err := f.engine.API.VolumeRemove(ctx, name, false)
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return f.engine.Blame(err, fault.Transient, "removing volume "+name)
}

// ReapVolumes removes the volumes of dead processes that no container uses, and those of
// unknown processes after a day. It joins the errors.
func (f *Fleet) ReapVolumes(ctx context.Context) error {
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	list, err := f.engine.API.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", volumePrefix))})
	if err != nil {
		return f.engine.Blame(err, fault.Transient, "listing volumes")
	}
	var errs []error
	for _, v := range list.Volumes {
		// The filter also matches inside a name.
		if v != nil && strings.HasPrefix(v.Name, volumePrefix) && f.abandoned(v, time.Now()) {
			errs = append(errs, f.RemoveVolume(ctx, v.Name))
		}
	}
	return errors.Join(errs...)
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
