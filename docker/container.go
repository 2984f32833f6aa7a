package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"batch.example/batch/fault"
)

const (
	removeLimit = 30 * time.Second // bounds a removal, which goes on when its caller is cancelled
	maxRemovals = 5                // times that one is begun when the engine is lost in the middle of it
)

// Container is one running container. It is safe for concurrent use. Whoever
// made it must Remove it.
type Container struct {
	engine  *Engine
	id      string
	name    string
	workDir string
	born    int // calls that had lost the engine when it was made
	shells  shells

	revive  sync.Mutex
	revived int // times started again; guarded by revive
}

// Create makes a container, starts it and sees that its directory is there: one
// that the image lacks is an Instance fault. That the image has a bash shows at
// the first command. On any failure, cancellation included, nothing is left
// behind.
func (e *Engine) Create(ctx context.Context, s Spec) (*Container, error) {
	c, err := e.create(ctx, s)
	if s.Network == NetworkBridge && lacksNetwork(err) { // clean-up has taken it in this moment
		return e.create(ctx, s)
	}
	return c, err
}

func (e *Engine) create(ctx context.Context, s Spec) (*Container, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	op := "creating a container of " + s.Image
	platform, err := parsePlatform(s.Platform)
	if err != nil {
		return nil, err
	}
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	if s.Network, err = e.network(ctx, s.Network); err != nil {
		return nil, err
	}
	if s.Name == "" { // by which it is found when the engine's answer is lost
		s.Name = "batch-" + strings.ToLower(rand.Text())
	}
	c := &Container{engine: e, name: s.Name, born: e.health.lost()}
	err = c.make(ctx, s, platform, op)
	if err == nil {
		err = c.begin(ctx, op, len(s.Cmd) > 0)
	}
	if err == nil {
		return c, nil
	}
	if c.id == "" {
		return nil, err
	}
	return nil, errors.Join(err, c.Remove(ctx))
}

// make creates the container and starts it, when it is its turn. It leaves c
// without id when it is known that there is nothing to remove.
func (c *Container) make(ctx context.Context, s Spec, platform *ocispec.Platform, op string) error {
	e := c.engine
	if err := e.lives.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer e.lives.Release(1)
	// The engine may create the container although the caller has hung up, and
	// its id would be lost: the call is brief, so it is seen through.
	seen, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	made, err := e.api.ContainerCreate(seen, s.config(time.Now(), e.owner), s.hostConfig(), nil, platform, s.Name)
	if err != nil {
		if e.health.suspect(err) {
			c.id = s.Name
		}
		return createFault(err, op)
	}
	c.id = made.ID
	for _, w := range made.Warnings {
		e.log.Debug("engine warning", "container", c.short(), "warning", w)
	}
	err = e.api.ContainerStart(ctx, c.id, container.StartOptions{})
	e.health.suspect(err)
	return createFault(err, op)
}

// begin sees that the directory of a started container is there.
func (c *Container) begin(ctx context.Context, op string, own bool) error {
	in, err := c.engine.api.ContainerInspect(ctx, c.id)
	if err != nil {
		return c.engine.blame(err, fault.Transient, op)
	}
	c.workDir = workDirOf(in)
	here, err := c.hasDir(ctx, in, own)
	if err != nil || here {
		return err
	}
	return fault.Newf(fault.Instance, "%s: %s is not a directory in it that its user may enter", op, c.workDir).
		WithHint("use the right image, or set environment.cwd to a directory it has")
}

// hasDir reports whether the container's directory is there for its user. The
// engine knows it of a real directory and of root; else bash has to look, which
// takes a hundred times as long, and so it does when the container's main
// program is the caller's own and may have ended already.
func (c *Container) hasDir(ctx context.Context, in container.InspectResponse, own bool) (bool, error) {
	if !own && in.Config != nil && slices.Contains([]string{"", "0", "root", "0:0", "root:root"}, in.Config.User) {
		st, err := c.engine.api.ContainerStatPath(ctx, c.id, c.workDir)
		if err == nil && st.Mode.IsDir() {
			return true, nil
		}
	}
	return c.look(ctx)
}

func workDirOf(in container.InspectResponse) string {
	if in.Config == nil {
		return "/"
	}
	return cmp.Or(in.Config.Labels[labelWorkDir], in.Config.WorkingDir, "/")
}

// createFault blames what the engine says when it cannot make or start a container.
func createFault(err error, op string) error {
	if err == nil || isLost(err) {
		return blame(err, fault.Transient, op)
	}
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
	case lacksNetwork(err):
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
	c := &Container{engine: e, id: id, born: e.health.lost()}
	if err := c.gone(ctx, "attaching to"); err != nil {
		return nil, err
	}
	in, err := e.api.ContainerInspect(ctx, id)
	if err != nil {
		return nil, e.blame(err, fault.Transient, "attaching to container "+c.short())
	}
	c.id, c.workDir = in.ID, workDirOf(in)
	return c, nil
}

// ID is the engine's name for the container: 64 hexadecimal digits.
func (c *Container) ID() string { return c.id }

func (c *Container) short() string { return c.id[:min(12, len(c.id))] }

// Remove kills the container and removes it with its anonymous volumes. It
// does so also when ctx is cancelled, within 30 seconds of its turn; only the
// wait for an engine that is away ends with ctx. A container that is gone
// already is no error.
func (c *Container) Remove(ctx context.Context) error {
	err := c.engine.remove(ctx, c.id)
	c.shells.close()
	return err
}

// remove removes a container, again when the engine was lost meanwhile.
func (e *Engine) remove(ctx context.Context, id string) (err error) {
	for range maxRemovals {
		waited := e.Ready(ctx)
		if fault.KindOf(waited) == fault.Host {
			return waited
		}
		err = e.removeOnce(context.WithoutCancel(ctx), id)
		if waited != nil || !errors.Is(err, ErrOutage) {
			return err
		}
	}
	return err
}

func (e *Engine) removeOnce(ctx context.Context, id string) error {
	if err := e.lives.Acquire(ctx, 1); err != nil {
		return err
	}
	defer e.lives.Release(1)
	ctx, cancel := context.WithTimeout(ctx, removeLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
		switch {
		case err == nil || errdefs.IsNotFound(err):
			return nil
		case !errdefs.IsConflict(err):
			return e.blame(err, fault.Transient, "removing container "+id[:min(12, len(id))])
		}
		select { // someone else is removing it: it is gone when they are done
		case <-ctx.Done():
			return blame(ctx.Err(), fault.Transient, "removing container "+id[:min(12, len(id))])
		case <-tick.C:
		}
	}
}
