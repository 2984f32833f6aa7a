package containers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/internal/retry"
)

// inspectLimit is how long the engine may take to report the state of a container that
// seems to be gone.
const inspectLimit = 5 * time.Second

// settle is how long the engine may take to notice that a container is gone.
const settle = time.Second

// gone returns why the container no longer answers; nil if it runs and
// the engine answers. It asks the engine even when ctx is canceled.
func (c *Container) gone(ctx context.Context, doing string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), inspectLimit)
	defer cancel()
	op := doing + " container " + c.short()
	in, err := c.engine.API.ContainerInspect(ctx, c.id)
	switch {
	case errdefs.IsNotFound(err):
		return fault.New(fault.Transient, op, errRemoved).
			WithHint("something outside this run removed it")
	case err != nil:
		return c.engine.Blame(err, fault.Host, op)
	case in.State == nil || (in.State.Running && !in.State.Paused):
		return nil
	case c.engineLost():
		return diedWithEngine(op)
	case in.State.Paused:
		return fault.New(fault.Transient, op, errors.New("the container is paused"))
	case in.State.ExitCode == wire.ExitLease:
		return fault.New(fault.Transient, op, errors.New("the container stopped because batch did not contact it for too long"))
	}
	return fault.New(fault.Transient, op, fmt.Errorf("the container was killed (exit code %d)", in.State.ExitCode)).
		WithHint("something outside this run killed it, or the machine ran out of memory")
}

// endedItself reports whether something that ran in the container ended it. That can happen
// in two ways: the kernel kills process 1 because the container has used up its memory, or
// process 1 crashes.
func (c *Container) endedItself(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, inspectLimit)
	defer cancel()
	in, err := c.engine.API.ContainerInspect(ctx, c.id)
	if err != nil || in.State == nil || in.State.Running || in.State.Paused || in.State.Dead {
		return false
	}
	itself := in.State.OOMKilled && c.limited || in.State.ExitCode == wire.ExitCrash
	return itself && !c.stoppedByClient(ctx, in.State.StartedAt) && !c.engineLost()
}

// stoppedByClient reports whether a client made the engine kill or stop the container since
// the given time, as far as the engine remembers: dockerd keeps 256 events. The container's
// OOMKilled does not answer that: the engine sets it as soon as one process ran out of memory,
// whatever ended the container.
func (c *Container) stoppedByClient(ctx context.Context, since string) bool {
	started, err := time.Parse(time.RFC3339Nano, since)
	if err != nil {
		return false
	}
	f := filters.NewArgs(filters.Arg("container", c.id), filters.Arg("event", string(events.ActionKill)), filters.Arg("event", string(events.ActionStop)))
	messages, errs := c.engine.API.Events(ctx, events.ListOptions{Since: seconds(started), Until: seconds(time.Now()), Filters: f})
	select {
	case <-messages:
		return true
	case <-errs: // io.EOF at the end
		return false
	}
}

func seconds(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }

var errRemoved = errors.New("the container was removed")

// shutdownTime is how long an engine that shuts down answers at most, after it killed the first of
// its containers: dockerd's default of --shutdown-timeout.
const shutdownTime = 15 * time.Second

// killed returns the fault f of a container that something killed, or the fault of an
// outage: an engine that shuts down first kills its containers, without removing them, and
// answers until all have ended. Only the first call for a container waits for that.
func (c *Container) killed(ctx context.Context, doing string, f error) error {
	if fault.KindOf(f) != fault.Transient || errors.Is(f, errRemoved) || errors.Is(f, daemon.ErrOutage) {
		return f
	}
	died := diedWithEngine(doing + " container " + c.short())
	if c.engineLost() { // since f was found
		return died
	}
	if c.engineStayed.Load() {
		return f
	}
	for end := time.Now().Add(shutdownTime); time.Now().Before(end); {
		if retry.Sleep(ctx, settle/4) != nil {
			return f
		}
		if c.engine.NoteError(c.engine.Ping(ctx)) || c.engineLost() {
			return died
		}
	}
	c.engineStayed.Store(true)
	return f
}

var errDiedWithEngine = fmt.Errorf("%w: the container ended with it", daemon.ErrOutage)

// diedWithEngine returns the fault of a container that ended with its engine.
func diedWithEngine(op string) error { return fault.New(fault.Transient, op, errDiedWithEngine) }

// stopLimit is how long the engine may take to kill a container, with several tries.
const stopLimit = 2 * daemon.RemoveLimit

// stop kills the container. Dockerd kills it, and fails with an error of its own ("is zombie
// and can not be killed") when it has not ended after ten seconds. Then it is still ending,
// as with thousands of processes, so stop tries again.
func (c *Container) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer cancel()
	now := 0
	for {
		err := c.engine.API.ContainerStop(ctx, c.id, container.StopOptions{Timeout: &now})
		if !errdefs.IsInternal(err) || retry.Sleep(ctx, removePause) != nil {
			return err
		}
	}
}

// asDestroyed turns f, the Instance fault of a container that can no longer run commands,
// into the right blame: its own commands destroyed it, unless the engine was lost meanwhile.
func (c *Container) asDestroyed(f error) error {
	if c.engineLost() {
		return fault.New(fault.Transient, "", fmt.Errorf("%w: no command can be started any more: %w", daemon.ErrOutage, f))
	}
	return box.Destroyed(f)
}

// engineLost reports whether the engine was lost since the container last answered.
func (c *Container) engineLost() bool { return c.engine.Losses() != int(c.knownLosses.Load()) }
