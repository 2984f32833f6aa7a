package containers

import (
	"context"
	"slices"

	"batch.example/batch/docker/internal/owner"
)

// LabelLease names a file, by its absolute path on the machine of the owner.
// The labels of a container cannot be changed, so a process that takes over
// what a dead one made cannot put its own name there. It stands in this file
// instead, as a line that is [Owner]: a container whose owner is dead is not
// abandoned while its lease names a living process. The caller sets the label
// in [Spec.Labels] and sees to it that one process at a time is in the file.
const LabelLease = "batch.lease"

// Owner names this process, as its containers' LabelOwner does.
func Owner() string { return owner.Self().String() }

// Inherited lists the containers under the lease at path, which this process
// has, that dead owners left: they are its to take over or to remove.
func (f *Fleet) Inherited(ctx context.Context, path string) ([]Stray, error) {
	all, err := f.Owned(ctx)
	return slices.DeleteFunc(all, func(s Stray) bool { return s.lease != path || !s.ownerDead }), err
}

// Leavings lists the containers under the lease at path, which this process has, of
// this process itself and of dead owners: what is left when no instance runs any
// more. A container may come late, made for a process that was killed.
func (f *Fleet) Leavings(ctx context.Context, path string) ([]Stray, error) {
	all, err := f.Owned(ctx)
	return slices.DeleteFunc(all, func(s Stray) bool { return s.lease != path || !s.ownerDead && !s.mine }), err
}

// Remove kills and removes the container with the given id, as
// [Container.Remove] does.
func (f *Fleet) Remove(ctx context.Context, id string) error {
	return (&Container{engine: f.engine, fleet: f, id: id}).Remove(ctx)
}
