package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

// maxCreates is how often a container is made that may start for another reason.
const maxCreates = 4

// Container is one running container. It is safe for concurrent use. Whoever
// made it must Remove or Close it.
type Container struct {
	engine  *Engine
	id      string
	name    string
	imageID string
	workDir string
	born    atomic.Int64 // what health.sign said at its last sign of life
	worked  sync.Map     // interpreters that commands were run with
	calls   calls
	disk    disk
	renewed atomic.Int64 // times started again

	key        wire.Key      // of the connection to its init
	unattended time.Duration // Spec.Unattended
	limited    bool          // its memory is
}

// Create makes a container, starts it and sees that its directory is there: one
// that the image lacks is an Instance fault. That the image has an interpreter shows
// at the first command. On any failure, cancellation included, nothing is left
// behind.
//
// A limit that the engine cannot keep is left out, with one warning.
func (e *Engine) Create(ctx context.Context, s Spec) (c *Container, err error) {
	for range maxCreates {
		c, err = e.create(ctx, s)
		taken := s.Network == NetworkBridge && lacksNetwork(err) // by clean-up, in this moment
		if !taken && !e.unlimited.learn(err) {
			break
		}
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
	e.listen()
	c := &Container{engine: e, name: s.Name, unattended: s.Unattended, limited: s.Memory > 0}
	_, _ = rand.Read(c.key[:]) // which never fails
	c.born.Store(int64(e.health.sign()))
	c.calls.begin(c.keepAlive)
	err = c.make(ctx, s, platform, op)
	if err == nil {
		err = c.checkDir(ctx, op)
	}
	if err == nil {
		e.watchDisk(c)
		return c, nil
	}
	c.calls.close()
	if c.id == "" {
		return nil, err
	}
	return nil, errors.Join(err, c.retract(ctx, unanswered(err) && c.id == s.Name))
}

// make creates the container and starts it, when it is its turn. It leaves c
// without id when it is known that there is nothing to remove.
func (c *Container) make(ctx context.Context, s Spec, platform *ocispec.Platform, op string) error {
	e := c.engine
	if err := e.creates.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer e.creates.Release(1)
	if err := e.Ready(ctx); err != nil { // one before may have found out that it hangs
		return err
	}
	limits, err := e.limit(ctx, s)
	if err != nil {
		return err
	}
	helper, err := e.boxInit(ctx, cmp.Or(s.ImageID, s.Image))
	if err != nil && errdefs.IsNotFound(err) {
		return s.createFault(err, op)
	}
	if err != nil {
		return err
	}
	limits.Mounts = append(limits.Mounts, helper)
	// The engine may create the container although the caller has hung up, and
	// its id would be lost: the call is brief, so it is seen through.
	made, err := e.api.ContainerCreate(context.WithoutCancel(ctx), s.config(time.Now(), e.owner, c.key), limits, nil, platform, s.Name)
	if err != nil {
		if e.health.suspect(err) {
			c.id = s.Name
		}
		return s.createFault(err, op)
	}
	c.id = made.ID
	if s.Disk > 0 && limits.StorageOpt == nil {
		c.disk.limit = s.Disk
	}
	for _, w := range made.Warnings {
		e.log.Debug("engine warning", "container", c.short(), "warning", w)
	}
	if _, err := c.inspect(ctx, op); err != nil {
		return err
	}
	err = c.launch(ctx, cmp.Or(s.ImageID, s.Image))
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.createFault(err, op)
}

// inspect learns what the engine knows of the container.
func (c *Container) inspect(ctx context.Context, op string) (container.InspectResponse, error) {
	in, err := c.engine.api.ContainerInspect(ctx, c.id)
	if err != nil {
		return in, c.engine.blame(err, fault.Transient, op)
	}
	c.id, c.workDir, c.imageID = in.ID, workDirOf(in), imageOf(in)
	return in, nil
}

// launch starts the container and its init. The init may be missing, where somebody
// has removed it or only a part of it was written: then it is brought there again.
func (c *Container) launch(ctx context.Context, image string) error {
	again, err := c.start(ctx)
	if !again {
		return err
	}
	if err := c.engine.refillBoxInit(ctx, image); err != nil {
		return err
	}
	_, err = c.start(ctx)
	return err
}

// start starts the container and greets its init. Again says that its init may not
// be what it should be.
func (c *Container) start(ctx context.Context) (again bool, err error) {
	l, err := c.attach(ctx)
	if err != nil {
		c.engine.health.suspect(err)
		return false, err
	}
	err = c.engine.api.ContainerStart(ctx, c.id, container.StartOptions{})
	c.engine.health.suspect(err)
	if err != nil {
		l.close()
		return lacksBoxInit(err), err
	}
	err = c.begin(ctx, l, c.key[:], attachLimit)
	return errors.Is(err, errEnded), err
}

// checkDir sees that commands can begin in the container's directory.
func (c *Container) checkDir(ctx context.Context, op string) error {
	q := &question{frame: wire.Frame{Kind: wire.KindReady, Data: wire.Encode(wire.Run{Args: []string{"-"}, Dir: c.workDir})}}
	if _, err := c.ask(ctx, q); err != nil {
		return err
	}
	if err := q.failure(); err != nil {
		return fault.Newf(fault.Instance, "%s: %s is not a directory in it that its user may enter: %w", op, c.workDir, err).
			WithHint("use the right image, or set environment.cwd to a directory it has")
	}
	return nil
}

func workDirOf(in container.InspectResponse) string {
	if in.Config == nil {
		return "/"
	}
	return cmp.Or(in.Config.Labels[labelWorkDir], in.Config.WorkingDir, "/")
}

func imageOf(in container.InspectResponse) string {
	if in.ContainerJSONBase == nil {
		return ""
	}
	return in.Image
}

// createFault blames what the engine says when it cannot make or start a container.
func (s Spec) createFault(err error, op string) error {
	if err == nil || isLost(err) || unanswered(err) {
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
	case says("container-init binary not found"):
		return blameHint(err, fault.Host, op, "Podman needs catatonit: apt-get install catatonit, or name another program as init_path in containers.conf")
	case says("setting rlimit", "operation not permitted"):
		return blameHint(err, fault.Host, op, "the engine may not raise a limit so far: lower --ulimit, default_ulimits in Podman's containers.conf,\n"+
			"or default-ulimits in Docker's daemon.json")
	case says("executable file not found") || says("no such file or directory"):
		return blameHint(err, fault.Instance, op, "the image is not one that the engine can start")
	case says("image with reference", "platform"):
		return blameHint(err, fault.Instance, op, "pull or build it for "+s.Platform+", or leave out --platform")
	case says("exec format error"):
		return blameHint(err, fault.Instance, op, "the image is for another platform")
	case errdefs.IsNotFound(err) && s.ImageID != "":
		return blameHint(err, fault.Transient, op, "it was there a moment ago: something removed it")
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

// Attach returns the container with the given id or name, which another
// process may have made. It must be running.
func (e *Engine) Attach(ctx context.Context, id string) (*Container, error) {
	if err := e.Ready(ctx); err != nil {
		return nil, err
	}
	e.listen()
	c := &Container{engine: e, id: id}
	c.born.Store(int64(e.health.sign()))
	if err := c.gone(ctx, "attaching to"); err != nil {
		return nil, err
	}
	op := "attaching to container " + c.short()
	in, err := c.inspect(ctx, op)
	if err != nil {
		return nil, err
	}
	if n, err := hex.Decode(c.key[:], []byte(in.Config.Labels[labelKey])); err != nil || n != wire.KeySize {
		return nil, fault.Newf(fault.Instance, "%s: batch did not make it", op)
	}
	c.unattended, _ = time.ParseDuration(in.Config.Labels[labelUnattended]) // none without the label
	if in.HostConfig != nil {
		c.limited = in.HostConfig.Memory > 0
		if in.HostConfig.StorageOpt == nil {
			c.disk.limit, _ = strconv.ParseInt(in.Config.Labels[labelDisk], 10, 64) // none without the label
		}
	}
	c.calls.begin(c.keepAlive)
	l, err := c.connected(ctx)
	if err == nil && (l.again || c.renewed.Load() > 0) {
		err = fault.Newf(fault.Transient, "%s: it was started again, and what its commands had come to is not known", op)
	}
	if err != nil {
		c.calls.close()
		return nil, err
	}
	e.watchDisk(c)
	return c, nil
}

// Close ends the connection to a container that is to live on, for as long as
// [Spec.Unattended] says. Remove does so, too.
func (c *Container) Close() {
	c.engine.disks.forget(c)
	c.calls.close()
}

// ID is the engine's name for the container: 64 hexadecimal digits.
func (c *Container) ID() string { return c.id }

// ImageID is the engine's name for the image that the container was made of.
func (c *Container) ImageID() string { return c.imageID }

func (c *Container) short() string { return c.id[:min(12, len(c.id))] }
