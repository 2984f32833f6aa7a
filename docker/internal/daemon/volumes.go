package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/volume"

	"batch.example/batch/fault"
)

// Volumes returns the volumes whose names begin with prefix and that match more filters.
func (e *Conn) Volumes(ctx context.Context, prefix string, more ...filters.KeyValuePair) ([]*volume.Volume, error) {
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	// Podman does not filter by labels that the engine creates a volume with.
	args := filters.NewArgs(append(more, filters.Arg("name", prefix))...)
	list, err := e.API.VolumeList(ctx, volume.ListOptions{Filters: args})
	if err != nil {
		return nil, e.Blame(err, fault.Transient, "listing volumes")
	}
	// The filter also matches inside a name.
	return slices.DeleteFunc(list.Volumes, func(v *volume.Volume) bool { return v == nil || !strings.HasPrefix(v.Name, prefix) }), nil
}

// RemoveVolumes removes the volumes whose names begin with prefix and for which gone returns
// true. Volumes that a container uses stay. It reports whether it removed one, and joins the
// errors.
func (e *Conn) RemoveVolumes(ctx context.Context, prefix string, gone func(*volume.Volume) bool) (bool, error) {
	list, err := e.Volumes(ctx, prefix)
	if err != nil {
		return false, err
	}
	removed := false
	var errs []error
	for _, v := range list {
		if !gone(v) {
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
