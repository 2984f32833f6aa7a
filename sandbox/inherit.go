package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/box"
)

// inheritance has the containers that a killed run with the same results directory left,
// until their instances begin.
type inheritance struct {
	engine *docker.Engine
	lease  string
	from   string // see Config
	log    *slog.Logger

	mu   sync.Mutex
	left map[string][]containers.Summary // by instance id
	lent map[string]containers.Summary   // those under from, by container id
}

// inherit finds the containers that earlier runs left under the lease; without a lease,
// none. Those that nobody resumes in are removed at once: what runs there would slow down
// the tests that run now.
func inherit(ctx context.Context, engine *docker.Engine, lease, from string, log *slog.Logger) (*inheritance, error) {
	h := &inheritance{
		engine: engine, lease: lease, from: from, log: log, left: map[string][]containers.Summary{}, lent: map[string]containers.Summary{},
	}
	others, err := engine.Inherited(ctx, from)
	if err != nil {
		return h, err
	}
	for _, s := range others {
		h.lent[s.ID] = s
	}
	list, err := engine.Inherited(ctx, lease)
	for _, s := range list {
		if s.Attempt == pristineAttempt {
			log.Info("removing a leftover container", "instance", s.Instance, "container", s.ID)
			if failed := engine.Remove(ctx, s.ID); failed != nil { // Close tries again
				log.Warn("removing a leftover container", "container", s.ID, "err", failed)
			}
			continue
		}
		h.left[s.Instance] = append(h.left[s.Instance], s)
	}
	return h, err
}

// pristineAttempt is the attempt in the labels of a pristine container.
const pristineAttempt = "0"

// take returns the container to resume in, if it still runs, and removes the instance's
// other containers.
func (h *inheritance) take(ctx context.Context, o Opening) (*containers.Container, error) {
	h.mu.Lock()
	list := h.left[o.Instance.ID]
	delete(h.left, o.Instance.ID)
	h.mu.Unlock()
	var found *containers.Container
	var errs []error
	for _, s := range list {
		if s.ID == o.Container && !strings.HasPrefix(s.Name, takenPrefix) {
			if found = h.attach(ctx, s); found != nil {
				continue
			}
		}
		errs = append(errs, h.engine.Remove(ctx, s.ID))
	}
	if s, ok := h.lent[o.Container]; ok && s.Instance == o.Instance.ID && found == nil {
		var err error
		if found, err = h.takeOver(ctx, s); err != nil {
			errs = append(errs, err)
		}
	}
	return found, errors.Join(errs...)
}

// attach returns a container that can run commands; nil if it cannot.
func (h *inheritance) attach(ctx context.Context, s containers.Summary) *containers.Container {
	c, err := h.engine.Attach(ctx, s.ID)
	if err == nil { // the agent may have removed bash
		_, err = c.Run(ctx, box.Command{Script: ":"})
	}
	if err != nil {
		h.log.Info("could not reattach a container", "instance", s.Instance, "container", s.ID, "err", err)
		return nil
	}
	return c
}

// takenPrefix begins the names of containers that were taken over from another lease. Labels
// cannot be changed, and a run under that lease must not continue in what this one changes.
const takenPrefix = "batch-taken-"

// takeOver takes a container over from the other lease. One that a third lease has taken
// stays where it is.
func (h *inheritance) takeOver(ctx context.Context, s containers.Summary) (*containers.Container, error) {
	sum := sha256.Sum256([]byte(h.lease))
	name := fmt.Sprintf("%s%x-%.12s", takenPrefix, sum[:6], s.ID)
	if strings.HasPrefix(s.Name, takenPrefix) && s.Name != name {
		return nil, nil
	}
	c := h.attach(ctx, s)
	if c == nil || s.Name == name {
		return c, nil
	}
	if err := h.engine.Rename(ctx, s.ID, name); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// remove removes the containers that are left when no instance runs any more: those that no
// instance took over, that appeared late or that could not be removed before; without those of
// attempts if leaveAttempts is set. It works even if ctx is canceled.
func (h *inheritance) remove(ctx context.Context, leaveAttempts bool) error {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), reapLimit)
	defer cancel()
	list, err := h.engine.Leftovers(limited, h.lease)
	errs := []error{err}
	for _, s := range list {
		if leaveAttempts && s.Attempt != pristineAttempt {
			continue
		}
		h.log.Info("removing a leftover container", "instance", s.Instance, "container", s.ID)
		errs = append(errs, h.engine.Remove(ctx, s.ID))
	}
	return errors.Join(errs...)
}
