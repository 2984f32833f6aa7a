package containers

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"batch.example/batch/fault"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

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
