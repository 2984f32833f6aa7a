package docker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/events"
	"github.com/docker/docker/api/types/filters"

	"batch.example/batch/fault"
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
	in, err := c.engine.api.ContainerInspect(ctx, c.id)
	switch {
	case errdefs.IsNotFound(err):
		return fault.New(fault.Transient, op, errors.New("the container was removed")).
			WithHint("something outside this run removed it")
	case err != nil:
		return c.engine.blame(err, fault.Host, op)
	case in.State == nil || (in.State.Running && !in.State.Paused):
		return nil
	}
	if c.engineLost() {
		return fault.New(fault.Transient, op, fmt.Errorf("%w: the container did not outlive it", ErrOutage))
	}
	if err = stateFault(in, op); fault.KindOf(err) == fault.Instance {
		err = c.ruin(err)
	}
	return err
}

// probe makes sure that the container runs and that bash can be started in it.
// The engine calls a container running for a while after it was killed.
func (c *Container) probe(ctx context.Context) error {
	_, err := c.look(ctx)
	return err
}

// look is probe that also tells whether the container's directory is there.
func (c *Container) look(ctx context.Context) (dir bool, err error) {
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	out, diag, err := c.output(limited, "bash", "-p", "-c", looker, "bash", c.workDir)
	if err == nil && strings.HasPrefix(out, "alive") {
		c.worked.Store(true)
		return out == "alive here", nil
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	for range 20 {
		if f := c.gone(ctx, "running a command in"); f != nil {
			return false, f
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(settle / 20):
		}
	}
	op := "running a command in container " + c.short()
	said := strings.TrimSpace(out + diag)
	if err != nil && lacksProgram.MatchString(strings.ToLower(err.Error())) {
		said = err.Error()
	}
	if said != "" || err == nil {
		return false, c.ruin(fault.New(fault.Instance, op, fmt.Errorf("no bash could be started: %.300s", said)).
			WithHint("the image must have bash on its PATH, and the container room for a process"))
	}
	return false, c.engine.blame(err, fault.Transient, op)
}

// looker prints a sign of life, and another when the directory $1 can be entered.
const looker = `printf alive; cd -- "$1" && printf ' here'`

func stateFault(in container.InspectResponse, op string) error {
	s := in.State
	switch {
	case s.Paused:
		return fault.New(fault.Transient, op, errors.New("the container is paused"))
	case s.ExitCode == 0 && expired(in): // Podman tells 0 of a container that was stopped, too
		return fault.New(fault.Transient, op, errors.New("the container reached its deadline and ended"))
	case s.ExitCode > 0 && s.ExitCode < 128: // 126 or 127, with Podman's init 1
		return fault.New(fault.Instance, op, errors.New("its main program could not be started")).
			WithHint("the image must have bash on its PATH")
	}
	return fault.New(fault.Transient, op, fmt.Errorf("the container was killed (exit code %d)", s.ExitCode)).
		WithHint("something outside this run killed it, or the machine ran out of memory")
}

// expired reports whether the container's deadline has come. The keeper counts
// whole seconds.
func expired(in container.InspectResponse) bool {
	if in.Config == nil {
		return false
	}
	end, err := time.Parse(time.RFC3339, in.Config.Labels[LabelExpires])
	return err == nil && time.Now().After(end.Add(-2*time.Second))
}

// oom reports whether a process of the container was killed for memory since
// the given time. The engine keeps only its latest events, so the question
// must be asked soon after.
func (c *Container) oom(ctx context.Context, since time.Time) bool {
	// The kernel tells the engine of it on another way than of the process's end.
	return c.happened(ctx, since, time.Now().Add(settle), events.ActionOOM)
}

// happened reports whether the engine saw one of the actions on the container
// in that time. When until is still to come by the engine's clock, it waits
// for it. An engine that does not answer has seen nothing.
func (c *Container) happened(ctx context.Context, since, until time.Time, actions ...events.Action) bool {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	f := filters.NewArgs(filters.Arg("container", c.id))
	for _, a := range actions {
		f.Add("event", string(a))
	}
	messages, errs := c.engine.api.Events(ctx, events.ListOptions{
		Since: seconds(since), Until: seconds(until), Filters: f,
	})
	select {
	case <-messages:
		return true
	case <-errs: // io.EOF at the end
		return false
	}
}

func seconds(t time.Time) string { return fmt.Sprintf("%d.%09d", t.Unix(), t.Nanosecond()) }
