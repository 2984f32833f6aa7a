package containers

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/images"
	"batch.example/batch/docker/internal/daemon"
	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/sandbox/engine"
)

// maxCreates is how often a create is tried if each failure has a reason that the next try
// avoids.
const maxCreates = 4

// Container is one running container. It is safe for concurrent use. The caller that
// created it must Remove or Close it.
type Container struct {
	*box.Box

	engine       *daemon.Conn
	fleet        *Fleet
	id           string
	imageID      string
	workDir      string
	knownLosses  atomic.Int64 // StableLosses when it last answered
	engineStayed atomic.Bool  // the engine answered for long enough after something killed the container
	disk         disk
	limited      bool // has a memory limit
	unplugged    bool // has no network sandbox
}

// Create creates a container, starts it and checks that its directory exists: one
// that the image lacks is an Instance fault. Whether the image has an interpreter is known
// only after the first command. On any failure, including cancellation, nothing is left
// behind.
//
// A limit that the engine cannot enforce is left out, with one warning.
func (f *Fleet) Create(ctx context.Context, asked engine.Spec) (c *Container, err error) {
	s := spec{asked}
	for range maxCreates {
		c, err = f.create(ctx, s)
		taken := s.Network == engine.Bridge && lacksNetwork(err) // clean-up has just removed it
		if !taken && !f.engine.LearnLimit(err) && !f.learnPlugged(s, err) {
			break
		}
	}
	return c, err
}

func (f *Fleet) create(ctx context.Context, s spec) (*Container, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	op := "creating a container from " + s.Image
	platform, err := images.ParsePlatform(s.Platform)
	if err != nil {
		return nil, err
	}
	if err := f.engine.Ready(ctx); err != nil {
		return nil, err
	}
	if s.Network, err = f.network(ctx, s.Network); err != nil {
		return nil, err
	}
	if s.Name == "" { // the name finds the container when the engine's answer is lost
		s.Name = s.generatedName()
	}
	f.engine.WatchConnection()
	c := &Container{engine: f.engine, fleet: f, limited: s.Memory > 0, unplugged: f.unplugs(s)}
	var key wire.Key
	_, _ = rand.Read(key[:]) // never fails
	c.knownLosses.Store(int64(f.engine.StableLosses()))
	c.Box = box.New(carrier{c}, key, s.Unattended)
	err = c.make(ctx, s, key, platform, op)
	if err == nil {
		err = c.Enter(ctx, op, "container")
	}
	if err == nil && c.unplugged {
		err = c.alone(ctx)
	}
	if err == nil {
		f.watchDisk(c)
		return c, nil
	}
	c.Box.Close()
	if c.id == "" {
		return nil, err
	}
	return nil, errors.Join(err, c.discard(ctx, daemon.Unanswered(err) && c.id == s.Name))
}

// make waits for its turn, then creates the container and starts it. It leaves c
// without an id if there is certainly nothing to remove.
func (c *Container) make(ctx context.Context, s spec, key wire.Key, platform *ocispec.Platform, op string) error {
	f := c.fleet
	files, err := f.bundleOf(ctx, s) // a pull needs no turn
	if err != nil {
		return err
	}
	if err := f.creates.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer f.creates.Release(1)
	if err := f.engine.Ready(ctx); err != nil { // an earlier create may have noticed that the engine hangs
		return err
	}
	limits := s.hostConfig()
	if err := f.engine.DropUnlimited(ctx, limits); err != nil {
		return err
	}
	helper, err := f.Init.Mount(ctx, s.from())
	if err != nil && errdefs.IsNotFound(err) {
		return s.createFault(err, op)
	}
	if err != nil {
		return err
	}
	limits.Mounts = append(limits.Mounts, helper)
	for _, v := range s.Volumes {
		limits.Mounts = append(limits.Mounts, mountOf(v))
	}
	if files != nil {
		limits.Mounts = append(limits.Mounts, files.mount(false))
	}
	settings := s.config(time.Now(), f.owner, key)
	if c.unplugged {
		f.unplug(settings, limits)
	}
	// The engine may create the container although the caller has hung up, and
	// its id would be lost. The call is short, so it is not canceled.
	made, err := f.engine.API.ContainerCreate(context.WithoutCancel(ctx), settings, limits, nil, platform, s.Name)
	if err != nil {
		if f.engine.NoteError(err) {
			c.id = s.Name
		}
		return s.createFault(err, op)
	}
	c.id = made.ID
	if s.Disk > 0 && limits.StorageOpt == nil {
		c.disk.limit = s.Disk
	}
	for _, w := range made.Warnings {
		f.engine.Log.Debug("engine warning", "container", c.short(), "warning", w)
	}
	if _, err := c.inspect(ctx, op); err != nil {
		return err
	}
	if files != nil {
		if err := f.provide(ctx, c.id, s.from(), files); err != nil {
			return err
		}
	}
	err = c.launch(ctx, s.from())
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.createFault(err, op)
}

// inspect asks the engine about the container and stores its id, directory and image.
func (c *Container) inspect(ctx context.Context, op string) (container.InspectResponse, error) {
	in, err := c.engine.API.ContainerInspect(ctx, c.id)
	if err != nil {
		return in, c.engine.Blame(err, fault.Transient, op)
	}
	c.id, c.workDir, c.imageID = in.ID, workDirOf(in), in.Image
	return in, nil
}

// launch starts the container and its init. If the init is missing, because something
// removed it or it was only partly written, launch copies it again.
func (c *Container) launch(ctx context.Context, image string) error {
	again, err := c.start(ctx, box.Started)
	if !again {
		return err
	}
	if err := c.fleet.Init.Refill(ctx, image); err != nil {
		return err
	}
	_, err = c.start(ctx, box.Started)
	return err
}

// start starts the container and greets its init. Again means that the init's file may be
// missing or damaged.
func (c *Container) start(ctx context.Context, s box.State) (again bool, err error) {
	p, err := c.attach(ctx)
	if err != nil {
		c.engine.NoteError(err)
		return false, err
	}
	err = c.engine.API.ContainerStart(ctx, c.id, container.StartOptions{})
	c.engine.NoteError(err)
	if err != nil {
		_ = p.Close()
		return boxinit.NeedsRefill(err), err
	}
	err = c.greet(ctx, p, s)
	return errors.Is(err, box.ErrEnded), err
}

func workDirOf(in container.InspectResponse) string {
	if in.Config == nil {
		return "/"
	}
	return cmp.Or(in.Config.Labels[labelWorkDir], in.Config.WorkingDir, "/")
}

// Attach returns the container with the given id or name. Another
// process may have created it. It must be running.
func (f *Fleet) Attach(ctx context.Context, id string) (*Container, error) {
	if err := f.engine.Ready(ctx); err != nil {
		return nil, err
	}
	f.engine.WatchConnection()
	c := &Container{engine: f.engine, fleet: f, id: id}
	c.knownLosses.Store(int64(f.engine.StableLosses()))
	if err := c.gone(ctx, "attaching to"); err != nil {
		return nil, err
	}
	op := "attaching to container " + c.short()
	in, err := c.inspect(ctx, op)
	if err != nil {
		return nil, err
	}
	var key wire.Key
	if n, err := hex.Decode(key[:], []byte(in.Config.Labels[labelKey])); err != nil || n != wire.KeySize {
		return nil, fault.Newf(fault.Instance, "%s: it was not created by batch", op)
	}
	unattended, _ := time.ParseDuration(in.Config.Labels[labelUnattended]) // none without the label
	c.unplugged = in.Config.NetworkDisabled
	if in.HostConfig != nil {
		c.limited = in.HostConfig.Memory > 0
		if in.HostConfig.StorageOpt == nil {
			c.disk.limit, _ = strconv.ParseInt(in.Config.Labels[labelDisk], 10, 64) // none without the label
		}
	}
	c.Box = box.New(carrier{c}, key, unattended)
	again, err := c.Connect(ctx)
	if again {
		err = fault.Newf(fault.Transient, "%s: it was restarted, and the state of its commands is unknown", op)
	}
	if err != nil {
		c.Box.Close()
		return nil, err
	}
	f.watchDisk(c)
	return c, nil
}

// Close ends the connection to a container and leaves it running, for as long as
// [engine.Spec.Unattended] says. Remove ends the connection too.
func (c *Container) Close() {
	c.fleet.disks.forget(c)
	c.Box.Close()
}

// ID is the engine's name for the container: 64 hexadecimal digits.
func (c *Container) ID() string { return c.id }

// ImageID is the engine's id of the image that the container was created from.
func (c *Container) ImageID() string { return c.imageID }

func (c *Container) short() string { return c.id[:min(12, len(c.id))] }

// createFault turns the engine's error from creating or starting a container into a fault.
func (s spec) createFault(err error, op string) error {
	if err == nil || daemon.IsLost(err) || daemon.Unanswered(err) {
		return daemon.Blame(err, fault.Transient, op)
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
		return blameHint(err, fault.Usage, op, "lower --cpus to at most the number of CPUs of the engine's machine")
	case says("unknown capability"):
		return blameHint(err, fault.Usage, op, "give --cap-add and --cap-drop Linux capabilities such as SYS_PTRACE, or ALL")
	case lacksNetwork(err):
		return blameHint(err, fault.Usage, op, "docker network ls lists the networks")
	case says("container-init binary not found"):
		return blameHint(err, fault.Host, op, "Podman needs catatonit: apt-get install catatonit, or name another program as init_path in containers.conf")
	case says("setting rlimit", "operation not permitted"):
		return blameHint(err, fault.Host, op, "the engine cannot raise the limit that far: lower --ulimit, default_ulimits in Podman's containers.conf,\n"+
			"or default-ulimits in Docker's daemon.json")
	case says("executable file not found") || says("no such file or directory"):
		return blameHint(err, fault.Instance, op, "the engine cannot start this image")
	case says("image with reference", "platform"):
		return blameHint(err, fault.Instance, op, "pull or build it for "+s.Platform+", or leave out --platform")
	case says("exec format error"):
		return blameHint(err, fault.Instance, op, "the image is for another platform")
	case errdefs.IsNotFound(err) && s.ImageID != "":
		return blameHint(err, fault.Transient, op, "it existed a moment ago: something removed it")
	case errdefs.IsNotFound(err):
		return blameHint(err, fault.Instance, op, "pull or build the image first")
	case errdefs.IsConflict(err):
		return blameHint(err, fault.Transient, op, "a container with that name still exists")
	case errdefs.IsInvalidArgument(err):
		return blameHint(err, fault.Usage, op, "the engine refused a container setting: check `environment.run_args`")
	}
	return daemon.Blame(err, fault.Transient, op)
}

func blameHint(err error, kind fault.Kind, op, hint string) error {
	return fault.New(kind, op, err).WithHint("%s", hint)
}
