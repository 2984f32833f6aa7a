package daemon

import (
	"context"
	"errors"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"batch.example/batch/fault"
)

// RemoveVolumes removes the volumes whose names begin with prefix and for which gone returns
// true. Volumes that a container uses stay. It reports whether it removed one, and joins the
// errors.
func (e *Conn) RemoveVolumes(ctx context.Context, prefix string, gone func(*volume.Volume) bool) (bool, error) {
	if err := e.Ready(ctx); err != nil {
		return false, err
	}
	// Podman does not filter by labels that the engine creates a volume with.
	list, err := e.API.VolumeList(ctx, volume.ListOptions{Filters: filters.NewArgs(filters.Arg("name", prefix))})
	if err != nil {
		return false, e.Blame(err, fault.Transient, "listing volumes")
	}
	removed := false
	var errs []error
	for _, v := range list.Volumes {
		if v == nil || !strings.HasPrefix(v.Name, prefix) || !gone(v) { // the filter also matches inside a name
			continue
		}
		one, err := e.RemoveVolume(ctx, v.Name)
		removed = removed || one
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

// RemoveVolume removes a volume, and reports whether it did. It is not an error if a container
// uses the volume, or if it is gone.
func (e *Conn) RemoveVolume(ctx context.Context, name string) (bool, error) {
	if err := e.Ready(ctx); err != nil {
		return false, err
	}
	err := e.API.VolumeRemove(ctx, name, false)
	if errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return false, nil
	}
	return err == nil, e.Blame(err, fault.Transient, "removing volume "+name)
}
