package containers

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"batch.example/batch/fault"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// Owned lists the containers that any batch process created on this engine, running
// or not.
func (f *Fleet) Owned(ctx context.Context) ([]engine.Owned, error) {
	if err := f.engine.Ready(ctx); err != nil {
		return nil, err
	}
	list, err := f.engine.API.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", LabelOwner)),
	})
	if err != nil {
		return nil, f.engine.Blame(err, fault.Transient, "listing containers")
	}
	now := time.Now()
	out := make([]engine.Owned, 0, len(list))
	for _, c := range list {
		out = append(out, f.summarize(c, now))
	}
	return out, nil
}

func (f *Fleet) summarize(c container.Summary, now time.Time) engine.Owned {
	s := engine.Owned{
		ID: c.ID, Image: cmp.Or(c.Labels[LabelImage], c.Image), State: c.State, Created: time.Unix(c.Created, 0),
		Run: c.Labels[engine.LabelRun], Instance: c.Labels[engine.LabelInstance], Attempt: c.Labels[engine.LabelAttempt],
	}
	if len(c.Names) > 0 {
		s.Name = strings.TrimPrefix(c.Names[0], "/")
	}
	if rest, taken := strings.CutPrefix(s.Name, takenPrefix); taken {
		s.Adopter, _, _ = strings.Cut(rest, "-")
	}
	if t, err := time.Parse(time.RFC3339, c.Labels[LabelExpires]); err == nil {
		s.Expires = t
	}
	s.Lease = owner.JoinLease(c.Labels[labelMachine], c.Labels[engine.LabelLease])
	s.Judge(c.Labels[LabelOwner], f.owner, strings.HasPrefix(f.engine.Host, "unix://"), now)
	return s
}

// takenPrefix begins the names of containers that a process took over from another lease: labels
// cannot be changed.
const takenPrefix = "batch-taken-"

// Adopt gives the container a name that says who has taken it over.
func (f *Fleet) Adopt(ctx context.Context, id, lease string) error {
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	err := f.engine.API.ContainerRename(ctx, id, fmt.Sprintf("%s%s-%.12s", takenPrefix, owner.Adopter(lease), id))
	return f.engine.Blame(err, fault.Transient, "renaming a container")
}

// Remove kills and removes the container with the given id, as
// [Container.Remove] does.
func (f *Fleet) Remove(ctx context.Context, id string) error {
	_, err := f.remove(ctx, id, f.plugs)
	return err
}
