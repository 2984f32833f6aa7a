package docker

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"batch.example/batch/fault"
)

// removeLimit bounds a removal, which goes on when its caller is cancelled.
const removeLimit = 30 * time.Second

// Container is one running container. It is safe for concurrent use. Whoever
// made it must Remove it.
type Container struct {
	engine  *Engine
	id      string
	name    string
	workDir string

	revive  sync.Mutex
	revived int // times started again; guarded by revive
}

// Create makes a container, starts it and sees that bash runs in it and that its
// directory is there: one that the image lacks is an Instance fault. On any
// failure, cancellation included, nothing is left behind.
func (e *Engine) Create(ctx context.Context, s Spec) (*Container, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	op := "creating a container of " + s.Image
	platform, err := parsePlatform(s.Platform)
	if err != nil {
		return nil, err
	}
	// The engine may create the container although the caller has hung up, and
	// its id would be lost: the call is brief, so it is seen through.
	seen, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	made, err := e.api.ContainerCreate(seen, s.config(time.Now(), e.owner), s.hostConfig(), nil, platform, s.Name)
	if err != nil {
		return nil, createFault(err, op)
	}
	c := &Container{engine: e, id: made.ID, name: s.Name}
	if err := c.start(ctx, op); err != nil {
		return nil, errors.Join(err, c.Remove(ctx))
	}
	for _, w := range made.Warnings {
		e.log.Debug("engine warning", "container", c.short(), "warning", w)
	}
	return c, nil
}

func (c *Container) start(ctx context.Context, op string) error {
	if err := c.engine.api.ContainerStart(ctx, c.id, container.StartOptions{}); err != nil {
		return createFault(err, op)
	}
	in, err := c.engine.api.ContainerInspect(ctx, c.id)
	if err != nil {
		return blame(err, fault.Transient, op)
	}
	c.workDir = workDirOf(in)
	here, err := c.look(ctx)
	if err != nil || here {
		return err
	}
	return fault.Newf(fault.Instance, "%s: %s is not a directory in it that its user may enter", op, c.workDir).
		WithHint("use the right image, or set environment.cwd to a directory it has")
}

func workDirOf(in container.InspectResponse) string {
	if in.Config == nil {
		return "/"
	}
	return cmp.Or(in.Config.Labels[labelWorkDir], in.Config.WorkingDir, "/")
}

// createFault blames what the engine says when it cannot make or start a container.
func createFault(err error, op string) error {
	text := strings.ToLower(err.Error())
	says := func(parts ...string) bool {
		for _, p := range parts {
			if !strings.Contains(text, p) {
				return false
			}
		}
		return true
	}
	switch {
	case says("unable to find user") || says("unable to find group"):
		return blameHint(err, fault.Instance, op, "the image has no such user: leave out --user, or give numbers (uid:gid)")
	case says("range of cpus"):
		return blameHint(err, fault.Usage, op, "give --cpus no more than the engine's machine has")
	case says("unknown capability"):
		return blameHint(err, fault.Usage, op, "give --cap-add and --cap-drop Linux capabilities such as SYS_PTRACE, or ALL")
	case errdefs.IsNotFound(err) && says("network ", " not found"):
		return blameHint(err, fault.Usage, op, "docker network ls shows the networks there are")
	case says("executable file not found") || says("no such file or directory"):
		return blameHint(err, fault.Instance, op, "the image must have bash")
	case says("exec format error"):
		return blameHint(err, fault.Instance, op, "the image is for another platform")
	case errdefs.IsNotFound(err):
		return blameHint(err, fault.Instance, op, "pull or build the image first")
	case errdefs.IsConflict(err):
		return blameHint(err, fault.Transient, op, "a container of that name is still there")
	case errdefs.IsInvalidArgument(err):
		return blameHint(err, fault.Usage, op, "the engine refuses a setting of the container: see environment.run_args")
	}
	return blame(err, fault.Transient, op)
}

func blameHint(err error, kind fault.Kind, op, hint string) error {
	return fault.New(kind, op, err).WithHint("%s", hint)
}

func parsePlatform(s string) (*ocispec.Platform, error) {
	if s == "" {
		return nil, nil
	}
	p := strings.Split(s, "/")
	if len(p) < 2 || len(p) > 3 || p[0] == "" || p[1] == "" {
		return nil, fault.Newf(fault.Usage, "platform %q: expected os/arch such as linux/amd64", s)
	}
	out := &ocispec.Platform{OS: p[0], Architecture: p[1]}
	if len(p) == 3 {
		out.Variant = p[2]
	}
	return out, nil
}

// Attach returns the container with the given id or name, which another
// process may have made. It must be running.
func (e *Engine) Attach(ctx context.Context, id string) (*Container, error) {
	c := &Container{engine: e, id: id}
	in, err := e.api.ContainerInspect(ctx, id)
	if err != nil {
		return nil, c.gone(ctx, "attaching to")
	}
	c.id, c.workDir = in.ID, workDirOf(in)
	if !in.State.Running {
		return nil, c.gone(ctx, "attaching to")
	}
	return c, nil
}

// ID is the engine's name for the container: 64 hexadecimal digits.
func (c *Container) ID() string { return c.id }

func (c *Container) short() string { return c.id[:min(12, len(c.id))] }

// Remove kills the container and removes it with its anonymous volumes. It
// does so also when ctx is cancelled, within 30 seconds. A container that is
// gone already is no error.
func (c *Container) Remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	return c.engine.remove(ctx, c.id)
}

func (e *Engine) remove(ctx context.Context, id string) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil || errdefs.IsNotFound(err):
			return nil
		case !errdefs.IsConflict(err):
			return blame(err, fault.Transient, "removing container "+id[:min(12, len(id))])
		}
		select { // someone else is removing it: it is gone when they are done
		case <-ctx.Done():
			return blame(ctx.Err(), fault.Transient, "removing container "+id[:min(12, len(id))])
		case <-tick.C:
		}
	}
}
