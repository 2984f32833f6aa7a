package containers

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

	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/images"
	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/docker/internal/link"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

// maxCreates is how often a container is made that may start for another reason.
const maxCreates = 4

// Container is one running container. It is safe for concurrent use. Whoever
// made it must Remove or Close it.
type Container struct {
	engine  *engine.Conn
	fleet   *Fleet
	id      string
	name    string
	imageID string
	workDir string
	born    atomic.Int64 // what the engine's Sign said at its last sign of life
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
func (f *Fleet) Create(ctx context.Context, s Spec) (c *Container, err error) {
	for range maxCreates {
		c, err = f.create(ctx, s)
		taken := s.Network == NetworkBridge && lacksNetwork(err) // by clean-up, in this moment
		if !taken && !f.engine.Learn(err) {
			break
		}
	}
	return c, err
}

func (f *Fleet) create(ctx context.Context, s Spec) (*Container, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	op := "creating a container of " + s.Image
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
	if s.Name == "" { // by which it is found when the engine's answer is lost
		s.Name = "batch-" + strings.ToLower(rand.Text())
	}
	f.engine.Listen()
	c := &Container{engine: f.engine, fleet: f, name: s.Name, unattended: s.Unattended, limited: s.Memory > 0}
	_, _ = rand.Read(c.key[:]) // which never fails
	c.born.Store(int64(f.engine.Sign()))
	c.calls.begin(c.keepAlive)
	err = c.make(ctx, s, platform, op)
	if err == nil {
		err = c.checkDir(ctx, op)
	}
	if err == nil {
		f.watchDisk(c)
		return c, nil
	}
	c.calls.close()
	if c.id == "" {
		return nil, err
	}
	return nil, errors.Join(err, c.retract(ctx, engine.Unanswered(err) && c.id == s.Name))
}

// make creates the container and starts it, when it is its turn. It leaves c
// without id when it is known that there is nothing to remove.
func (c *Container) make(ctx context.Context, s Spec, platform *ocispec.Platform, op string) error {
	f := c.fleet
	if err := f.creates.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer f.creates.Release(1)
	if err := f.engine.Ready(ctx); err != nil { // one before may have found out that it hangs
		return err
	}
	limits := s.hostConfig()
	if err := f.engine.Trim(ctx, limits); err != nil {
		return err
	}
	helper, err := f.Init.Mount(ctx, cmp.Or(s.ImageID, s.Image))
	if err != nil && errdefs.IsNotFound(err) {
		return s.createFault(err, op)
	}
	if err != nil {
		return err
	}
	limits.Mounts = append(limits.Mounts, helper)
	// The engine may create the container although the caller has hung up, and
	// its id would be lost: the call is brief, so it is seen through.
	made, err := f.engine.API.ContainerCreate(context.WithoutCancel(ctx), s.config(time.Now(), f.owner, c.key), limits, nil, platform, s.Name)
	if err != nil {
		if f.engine.Suspect(err) {
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
	err = c.launch(ctx, cmp.Or(s.ImageID, s.Image))
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.createFault(err, op)
}

// inspect learns what the engine knows of the container.
func (c *Container) inspect(ctx context.Context, op string) (container.InspectResponse, error) {
	in, err := c.engine.API.ContainerInspect(ctx, c.id)
	if err != nil {
		return in, c.engine.Blame(err, fault.Transient, op)
	}
	c.id, c.workDir, c.imageID = in.ID, workDirOf(in), in.Image
	return in, nil
}

// launch starts the container and its init. The init may be missing, where somebody
// has removed it or only a part of it was written: then it is brought there again.
func (c *Container) launch(ctx context.Context, image string) error {
	again, err := c.start(ctx)
	if !again {
		return err
	}
	if err := c.fleet.Init.Refill(ctx, image); err != nil {
		return err
	}
	_, err = c.start(ctx)
	return err
}

// start starts the container and greets its init. Again says that its init may not
// be what it should be.
func (c *Container) start(ctx context.Context) (again bool, err error) {
	l, err := link.Attach(ctx, c.engine, c.id, c.key)
	if err != nil {
		c.engine.Suspect(err)
		return false, err
	}
	err = c.engine.API.ContainerStart(ctx, c.id, container.StartOptions{})
	c.engine.Suspect(err)
	if err != nil {
		l.Close()
		return boxinit.Lacks(err), err
	}
	err = c.begin(ctx, l, c.key[:], attachLimit)
	return errors.Is(err, link.ErrEnded), err
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

// Attach returns the container with the given id or name, which another
// process may have made. It must be running.
func (f *Fleet) Attach(ctx context.Context, id string) (*Container, error) {
	if err := f.engine.Ready(ctx); err != nil {
		return nil, err
	}
	f.engine.Listen()
	c := &Container{engine: f.engine, fleet: f, id: id}
	c.born.Store(int64(f.engine.Sign()))
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
	if err == nil && (l.Again || c.renewed.Load() > 0) {
		err = fault.Newf(fault.Transient, "%s: it was started again, and what its commands had come to is not known", op)
	}
	if err != nil {
		c.calls.close()
		return nil, err
	}
	f.watchDisk(c)
	return c, nil
}

// Close ends the connection to a container that is to live on, for as long as
// [Spec.Unattended] says. Remove does so, too.
func (c *Container) Close() {
	c.fleet.disks.forget(c)
	c.calls.close()
}

// ID is the engine's name for the container: 64 hexadecimal digits.
func (c *Container) ID() string { return c.id }

// ImageID is the engine's name for the image that the container was made of.
func (c *Container) ImageID() string { return c.imageID }

func (c *Container) short() string { return c.id[:min(12, len(c.id))] }
