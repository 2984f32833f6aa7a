package docker

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/docker/docker/api/types/container"

	"batch.example/batch/fault"
)

// survive makes sure that commands can be run in the container, in which one was
// killed or could not be started. Where what runs in it is to blame, the container
// is started again, with its files as they are and none of its processes: then
// revived is true. One that is of no use even so is ErrDestroyed.
func (c *Container) survive(ctx context.Context) (revived bool, err error) {
	c.revive.Lock()
	defer c.revive.Unlock()
	err = c.probe(ctx)
	if err == nil || ctx.Err() != nil {
		return false, err
	}
	const doing = "running a command in"
	if c.gone(ctx, doing) == nil && !errors.Is(err, ErrDestroyed) {
		return false, err // it runs, and it is not its fault
	}
	if err := c.renew(ctx, doing); err != nil {
		return false, err
	}
	return true, nil
}

// renew ends all processes of the container, keeps its files, and sees that bash
// can be started. One that has ended is started again if it did so by itself.
// The caller holds revive.
func (c *Container) renew(ctx context.Context, doing string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	c.renewed.Add(1)
	op, now := "starting container "+c.short()+" again", 0
	var err error
	if f := c.gone(ctx, doing); f == nil {
		err = c.engine.api.ContainerRestart(ctx, c.id, container.StopOptions{Timeout: &now})
	} else if c.endedItself(ctx) {
		err = c.engine.api.ContainerStart(ctx, c.id, container.StartOptions{})
	} else {
		return c.killed(ctx, doing, f)
	}
	switch {
	case err == nil:
		c.engine.log.Warn("started a container again whose processes were all killed, or could not be", "container", c.short())
		if err = c.probe(ctx); err != nil && !errors.Is(err, ErrDestroyed) && c.endedItself(ctx) {
			err = c.ruin(fault.New(fault.Instance, op, errors.New("it ends at once")))
		}
		return err
	case lacksProgram.MatchString(strings.ToLower(err.Error())):
		return c.ruin(fault.New(fault.Instance, op, err))
	}
	return c.engine.blame(err, fault.Transient, op)
}

// killed returns the fault f of a container that somebody killed, or that of an
// outage: an engine that goes down kills its containers first, and answers meanwhile.
func (c *Container) killed(ctx context.Context, doing string, f error) error {
	if fault.KindOf(f) != fault.Transient || c.engineLost() || sleep(ctx, settle) != nil {
		return f
	}
	if c.engine.health.suspect(c.engine.signOfLife(ctx)) || c.engineLost() {
		return fault.New(fault.Transient, doing+" container "+c.short(), fmt.Errorf("%w: the container did not outlive it", ErrOutage))
	}
	return f
}

// lacksProgram matches what engines say when the program or user that a
// container begins with is not there, or not to be run.
var lacksProgram = regexp.MustCompile(`exec:? [^:]+: (executable file not found|no such file|exec format error|permission denied|is a directory)|unable to find (user|group)`)

// endedItself reports whether the container has ended by what ran in it: its main
// program was killed by a signal that did not come through the engine, or for the
// memory that the container used up. A signal from a person on the engine's machine
// cannot be told from one that a command sent.
func (c *Container) endedItself(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	in, err := c.engine.api.ContainerInspect(ctx, c.id)
	if err != nil || in.State == nil {
		return false
	}
	s := in.State
	switch {
	case s.Running, s.Paused, s.Dead, expired(in), c.engineLost():
		return false
	case s.OOMKilled && (in.HostConfig == nil || in.HostConfig.Memory == 0):
		return false // it was the machine's memory
	}
	return c.engine.witness.endedItself(ctx, c.id) && !c.engineLost()
}

// mend does what can be done about a shell that could not be started. A nil
// error says that another try makes sense; revived, that all processes of the
// container are gone, as they may have been before. Renewed is how often it had been
// started again when the shell was asked for.
func (c *Container) mend(ctx context.Context, cause error, renewed int64, before bool) (revived bool, err error) {
	if ctx.Err() != nil {
		return before, context.Cause(ctx)
	}
	if isLost(cause) || unanswered(cause) {
		if f := c.gone(ctx, "running a command in"); f != nil {
			return before, f
		}
		return before, c.startFault(cause)
	}
	revived, err = c.survive(ctx)
	switch {
	case err != nil || revived:
		return revived, err
	case c.renewed.Load() != renewed: // by somebody else meanwhile
		return true, nil
	case !errors.Is(cause, errNoShell) || !c.worked.Load():
		return before, c.startFault(cause)
	case before:
		return before, c.unusable()
	}
	c.revive.Lock()
	defer c.revive.Unlock()
	return true, c.renew(ctx, "running a command in") // something in it ends every shell
}

// unusable is the fault of a container that is well and takes no command.
func (c *Container) unusable() error {
	return c.ruin(fault.New(fault.Instance, "running a command in container "+c.short(),
		fmt.Errorf("%w: each ended before it took the command", errNoShell)))
}
