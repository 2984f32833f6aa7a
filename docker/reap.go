package docker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"batch.example/batch/fault"
)

// Stray is a container that some batch process made.
type Stray struct {
	ID       string
	Name     string
	Image    string
	Run      string
	Instance string
	Attempt  string
	State    string // as the engine calls it: running, exited, ...
	Created  time.Time
	Expires  time.Time // zero when it has no deadline

	// Abandoned tells that nobody will remove it: the process that made it, on
	// this machine, is dead; or it was made on another one, of whose processes
	// nothing is known, and its deadline passed a while ago. What a living
	// process of this machine made, or has the lease of, is never abandoned.
	Abandoned bool

	lease     string
	ownerDead bool // and of this machine
}

// expiryGrace is what a process on another machine gets to remove a container
// that has reached its deadline.
const expiryGrace = time.Minute

// Owned lists the containers that batch made on this engine, running or not,
// whichever process made them.
func (e *Engine) Owned(ctx context.Context) ([]Stray, error) {
	list, err := e.api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: filters.NewArgs(filters.Arg("label", LabelOwner)),
	})
	if err != nil {
		return nil, blame(err, fault.Transient, "listing containers")
	}
	now := time.Now()
	out := make([]Stray, 0, len(list))
	for _, c := range list {
		out = append(out, e.stray(c, now))
	}
	return out, nil
}

func (e *Engine) stray(c container.Summary, now time.Time) Stray {
	s := Stray{
		ID: c.ID, Image: c.Image, State: c.State, Created: time.Unix(c.Created, 0),
		Run: c.Labels[LabelRun], Instance: c.Labels[LabelInstance], Attempt: c.Labels[LabelAttempt],
	}
	if len(c.Names) > 0 {
		s.Name = strings.TrimPrefix(c.Names[0], "/")
	}
	if t, err := time.Parse(time.RFC3339, c.Labels[LabelExpires]); err == nil {
		s.Expires = t
	}
	s.lease = c.Labels[LabelLease]
	if o, ok := parseOwner(c.Labels[LabelOwner]); ok && o.host == e.owner.host {
		s.ownerDead = o.dead(e.owner)
		s.Abandoned = s.ownerDead && !leased(s.lease, e.owner)
	} else {
		s.Abandoned = !s.Expires.IsZero() && now.After(s.Expires.Add(expiryGrace))
	}
	return s
}

// Reap removes the abandoned containers and returns those it removed. It goes
// on past one that cannot be removed and joins the errors.
func (e *Engine) Reap(ctx context.Context) ([]Stray, error) {
	all, err := e.Owned(ctx)
	if err != nil {
		return nil, err
	}
	var removed []Stray
	var errs []error
	for _, s := range all {
		if !s.Abandoned {
			continue
		}
		if err := e.remove(ctx, s.ID); err != nil {
			errs = append(errs, err)
			continue
		}
		e.log.Info("removed an abandoned container", "container", s.ID[:12], "run", s.Run, "instance", s.Instance)
		removed = append(removed, s)
	}
	return removed, errors.Join(errs...)
}
