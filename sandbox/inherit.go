package sandbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"batch.example/batch/internal/box"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// inheritance has the containers that a killed run with the same results directory left,
// until their instances begin.
type inheritance struct {
	engine engine.Engine
	lease  string
	from   string   // see Config
	shell  []string // of the agent's commands
	log    *slog.Logger

	mu   sync.Mutex
	left map[string][]engine.Owned // by instance id
	lent map[string]engine.Owned   // the containers under from, by container id
}

// inherit finds the containers that earlier runs left under the lease; without a lease,
// none. Pristine ones, in which no attempt resumes, are removed at once: their processes
// would slow down the tests that run now.
func inherit(ctx context.Context, e engine.Engine, c Config) (*inheritance, error) {
	h := &inheritance{
		engine: e, lease: c.Lease, from: c.From, shell: c.Interpreter, log: c.Log,
		left: map[string][]engine.Owned{}, lent: map[string]engine.Owned{},
	}
	others, err := engine.Inherited(ctx, e, h.from)
	if err != nil {
		return h, err
	}
	for _, s := range others {
		h.lent[s.ID] = s
	}
	list, err := engine.Inherited(ctx, e, h.lease)
	for _, s := range list {
		if s.Attempt == pristineAttempt {
			h.log.Info("removing a leftover container", "instance", s.Instance, "container", s.ID)
			if failed := e.Remove(ctx, s.ID); failed != nil { // Close tries again
				h.log.Warn("removing a leftover container", "container", s.ID, "err", failed)
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
func (h *inheritance) take(ctx context.Context, o Opening) (engine.Container, error) {
	h.mu.Lock()
	list := h.left[o.Instance.ID]
	delete(h.left, o.Instance.ID)
	h.mu.Unlock()
	var found engine.Container
	var errs []error
	for _, s := range list {
		if s.ID == o.Container && s.Adopter == "" {
			var err error
			if found, err = h.attach(ctx, s); found != nil || err != nil {
				errs = append(errs, err)
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

// attach returns a container that can run commands, or nil. It fails if another process may use it.
func (h *inheritance) attach(ctx context.Context, s engine.Owned) (engine.Container, error) {
	c, err := h.engine.Attach(ctx, s.ID)
	if err == nil { // the agent may have removed its shell
		_, err = c.Run(ctx, box.Command{Args: h.shell, Script: ":"})
	}
	if err != nil {
		h.log.Info("could not reattach a container", "instance", s.Instance, "container", s.ID, "err", err)
		if c != nil {
			c.Close()
		}
		if errors.Is(err, engine.ErrHeld) {
			return nil, err
		}
		return nil, nil
	}
	return c, nil
}

// takeOver takes a container over from the other lease, so that a run under that lease does not
// continue in a container that this one changes. A container that a third lease has taken stays
// where it is.
func (h *inheritance) takeOver(ctx context.Context, s engine.Owned) (engine.Container, error) {
	mine := owner.Adopter(h.lease)
	if s.Adopter != "" && s.Adopter != mine {
		return nil, nil
	}
	c, err := h.attach(ctx, s)
	if c == nil || s.Adopter == mine {
		return c, err
	}
	if err := h.engine.Adopt(ctx, s.ID, h.lease); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// remove removes the containers that are left when no instance runs any more: no instance took
// them over, they appeared late, or they could not be removed before. With leaveAttempts, it
// leaves the containers of attempts.
func (h *inheritance) remove(ctx context.Context, leaveAttempts bool) error {
	list, err := engine.Leftovers(ctx, h.engine, h.lease)
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
