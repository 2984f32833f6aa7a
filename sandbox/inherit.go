package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
)

// inheritance are the containers that a run into the same directory left when
// it died, until their instances have their turn.
type inheritance struct {
	engine *docker.Engine
	lease  string
	log    *slog.Logger

	mu   sync.Mutex
	left map[string][]containers.Stray // by instance id
}

// inherit finds what earlier runs left under the lease; without one, nothing.
func inherit(ctx context.Context, engine *docker.Engine, lease string, log *slog.Logger) (*inheritance, error) {
	h := &inheritance{engine: engine, lease: lease, log: log, left: map[string][]containers.Stray{}}
	if lease == "" {
		return h, nil
	}
	list, err := engine.Inherited(ctx, lease)
	for _, s := range list {
		h.left[s.Instance] = append(h.left[s.Instance], s)
	}
	return h, err
}

// take returns the container to go on in, if it still runs, and removes what else
// was left for the instance.
func (h *inheritance) take(ctx context.Context, o Opening) (*containers.Container, error) {
	h.mu.Lock()
	list := h.left[o.Instance.ID]
	delete(h.left, o.Instance.ID)
	h.mu.Unlock()
	var found *containers.Container
	var errs []error
	for _, s := range list {
		if s.ID == o.Container {
			c, err := h.engine.Attach(ctx, s.ID)
			if err == nil { // its agent may have left it without a bash to begin with
				_, err = c.Run(ctx, containers.Command{Script: ":"})
			}
			if err == nil {
				found = c
				continue
			}
			h.log.Info("a container cannot be reattached", "instance", s.Instance, "container", s.ID, "err", err)
		}
		errs = append(errs, h.engine.Remove(ctx, s.ID))
	}
	return found, errors.Join(errs...)
}

// remove removes what is left when no instance runs any more: what none has taken,
// came late, or could not be removed before. It works when ctx is cancelled.
func (h *inheritance) remove(ctx context.Context) error {
	if h.lease == "" {
		return nil
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), reapLimit)
	defer cancel()
	list, err := h.engine.Leavings(limited, h.lease)
	errs := []error{err}
	for _, s := range list {
		h.log.Info("removing a container that was left", "instance", s.Instance, "container", s.ID)
		errs = append(errs, h.engine.Remove(ctx, s.ID))
	}
	return errors.Join(errs...)
}
