package docker

import (
	"context"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"

	"batch.example/batch/fault"
)

// maxRevivals is how often one container is started again: one that dies more
// often than that has another trouble than a clumsy command.
const maxRevivals = 3

// survive is probe for a container in which a command has just been killed that
// ran for the given time. If the command killed all processes and the keeper
// with them ("kill -9 -1"), that is its own doing and no fault: the container
// is started again, with its files as they are, and revived is true.
func (c *Container) survive(ctx context.Context, ran time.Duration) (revived bool, err error) {
	c.revive.Lock()
	defer c.revive.Unlock()
	err = c.probe(ctx)
	if err == nil || ctx.Err() != nil || c.revived >= maxRevivals || !c.diedInside(ctx, ran) {
		return false, err
	}
	c.revived++
	c.engine.log.Warn("starting a container again whose command killed all its processes", "container", c.short())
	if err := c.engine.api.ContainerStart(ctx, c.id, container.StartOptions{}); err != nil {
		return false, c.engine.blame(err, fault.Transient, "starting container "+c.short()+" again")
	}
	return true, c.probe(ctx)
}

// diedInside reports whether the container's main program was killed by a
// signal that came neither through the engine nor from the lack of memory. A
// signal from a person on the engine's machine cannot be told from one that
// the command sent.
func (c *Container) diedInside(ctx context.Context, ran time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	in, err := c.engine.api.ContainerInspect(ctx, c.id)
	if err != nil || in.State == nil {
		return false
	}
	s := in.State
	if s.Running || s.Paused || s.Dead || s.OOMKilled || s.ExitCode <= 128 {
		return false
	}
	end, err := time.Parse(time.RFC3339Nano, s.FinishedAt) // by the engine's clock, as its events are
	if err != nil {
		return false
	}
	// The engine records a kill under the lock that the end of the container
	// waits for, but perhaps a little after the end itself.
	return !c.happened(ctx, end.Add(-ran-time.Second), end.Add(time.Second), events.ActionKill, events.ActionOOM)
}
