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

	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/docker/internal/link"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/vocab"
)

// lookLimit bounds a look at a container that seems to be in trouble.
const lookLimit = 5 * time.Second

// settle is how long the engine may take to notice that a container is gone.
const settle = time.Second

// gone says why the container does not answer any more; nil when it runs and
// the engine is well. It looks also when ctx is cancelled.
func (c *Container) gone(ctx context.Context, doing string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookLimit)
	defer cancel()
	op := doing + " container " + c.short()
	in, err := c.engine.API.ContainerInspect(ctx, c.id)
	switch {
	case errdefs.IsNotFound(err):
		return fault.New(fault.Transient, op, errors.New("the container was removed")).
			WithHint("something outside this run removed it")
	case err != nil:
		return c.engine.Blame(err, fault.Host, op)
	case in.State == nil || (in.State.Running && !in.State.Paused):
		return nil
	case c.engineLost():
		return outlived(op)
	case in.State.Paused:
		return fault.New(fault.Transient, op, errors.New("the container is paused"))
	case in.State.ExitCode == wire.ExitLease:
		return fault.New(fault.Transient, op, errors.New("the container ended, since batch had not been heard of for as long as it may be alone"))
	}
	return fault.New(fault.Transient, op, fmt.Errorf("the container was killed (exit code %d)", in.State.ExitCode)).
		WithHint("something outside this run killed it, or the machine ran out of memory")
}

// endedItself reports whether the container has ended by what ran in it: process 1
// can be killed from within only for the memory that the container has used up, or
// be made to give up.
func (c *Container) endedItself(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	in, err := c.engine.API.ContainerInspect(ctx, c.id)
	if err != nil || in.State == nil || in.State.Running || in.State.Paused || in.State.Dead {
		return false
	}
	itself := in.State.OOMKilled && c.limited || in.State.ExitCode == wire.ExitCrash
	return itself && !c.asked(ctx, in.State.StartedAt) && !c.engineLost()
}

// asked reports whether somebody had the engine kill or stop the container since the
// given time, as far as the engine remembers. An engine says of a container that it ran
// out of memory when one of its processes did, whatever it ended by.
func (c *Container) asked(ctx context.Context, since string) bool {
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

// killed returns the fault f of a container that somebody killed, or that of an
// outage: an engine that goes down kills its containers first, and answers meanwhile.
func (c *Container) killed(ctx context.Context, doing string, f error) error {
	if fault.KindOf(f) != fault.Transient || c.engineLost() || engine.Sleep(ctx, settle) != nil {
		return f
	}
	if c.engine.Suspect(c.engine.SignOfLife(ctx)) || c.engineLost() {
		return outlived(doing + " container " + c.short())
	}
	return f
}

var errOutlived = fmt.Errorf("%w: the container did not outlive it", engine.ErrOutage)

// outlived is the fault of a container that ended with its engine.
func outlived(op string) error { return fault.New(fault.Transient, op, errOutlived) }

// renew starts the container again, which has ended by itself: with its files, and
// none of its processes. The caller holds connecting.
func (c *Container) renew(ctx context.Context) (*link.Link, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.RemoveLimit)
	defer cancel()
	c.renewed.Add(1)
	c.engine.Log.Warn("started a container again that had used up its memory, or whose processes could not be killed", "container", c.short())
	if _, err := c.start(ctx); err != nil {
		if c.endedItself(ctx) {
			return nil, c.ruin(fault.New(fault.Instance, "starting container "+c.short()+" again", err))
		}
		return nil, c.engine.Blame(err, fault.Transient, "starting container "+c.short()+" again")
	}
	return c.calls.current(), nil
}

// restart ends all processes of the container, also those that its init cannot kill,
// and starts it again with its files.
func (c *Container) restart(ctx context.Context, doing string) error {
	p := &c.calls
	if err := p.connecting.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return err
	}
	defer p.connecting.Release(1)
	l := p.current()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), engine.RemoveLimit)
	defer cancel()
	now := 0
	if err := c.engine.API.ContainerStop(limited, c.id, container.StopOptions{Timeout: &now}); err != nil {
		return c.engine.Blame(err, fault.Transient, doing+" container "+c.short())
	}
	if l != nil {
		c.drop(l)
	}
	_, err := c.renew(ctx)
	return err
}

// clear ends all processes of the container but its init.
func (c *Container) clear(ctx context.Context, doing string) error {
	q := &question{frame: wire.Frame{Kind: wire.KindClear}}
	if _, err := c.ask(ctx, q); err != nil {
		return err
	}
	if q.failure() == nil {
		return nil
	}
	return c.restart(ctx, doing)
}

// destroyed is an error that is vocab.ErrDestroyed without saying so.
type destroyed struct{ error }

// Is makes errors.Is(err, vocab.ErrDestroyed) true.
func (destroyed) Is(target error) bool { return target == vocab.ErrDestroyed }

// Unwrap returns the cause.
func (d destroyed) Unwrap() error { return d.error }

// ruin says whose doing it is that no more commands can be run in a container in which
// they could be before, which an Instance fault f tells: what ran in it, when the
// engine was there all the time.
func (c *Container) ruin(f error) error {
	if c.engineLost() {
		return fault.New(fault.Transient, "", fmt.Errorf("%w: no command can be started after it: %w", engine.ErrOutage, f))
	}
	if e, ok := errors.AsType[*fault.Error](f); ok { // whose hint is about the image
		f = &fault.Error{Op: e.Op, Kind: e.Kind, Err: e.Err}
	}
	return destroyed{f}
}

// engineLost reports whether the engine was lost since the last sign of life.
func (c *Container) engineLost() bool { return c.engine.Losses() != int(c.born.Load()) }
