package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// record is the stored description of a container.
type record struct {
	engine.Spec
	Key     wire.Key
	Owner   string
	Created time.Time
	Expires time.Time
}

const recordFile = "record.json"

// container implements [engine.Container]; its carrier is in this file too.
type container struct {
	*box.Box
	record

	fleet *fleet
	id    string
	dir   string
}

func (f *fleet) container(id string, r record) *container {
	c := &container{record: r, fleet: f, id: id, dir: filepath.Join(f.dir, id)}
	c.Box = box.New(carrier{c}, r.Key, r.Unattended)
	return c
}

func (c *container) path(name string) string { return filepath.Join(c.dir, name) }

func (c *container) save() error {
	for _, dir := range []string{"", "upper", "work", "root"} {
		if err := os.Mkdir(c.path(dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Mkdir(c.path("tmp"), 0); err != nil {
		return err
	}
	base, files := split(c.Image)
	if files != "" {
		if out, err := exec.Command("cp", "-a", files+"/.", c.path("upper")).CombinedOutput(); err != nil {
			return fmt.Errorf("copying %s: %w: %s", files, err, out)
		}
	}
	text, err := json.Marshal(c.record)
	if err == nil {
		err = errors.Join(os.Chmod(c.path("tmp"), 0o777|os.ModeSticky), os.Symlink(base, c.path("image")), write(c.path(recordFile), string(text)))
	}
	return err
}

// split returns the directories of an image; files is empty if the image has only one.
func split(image string) (base, files string) {
	if files, base, both := strings.Cut(image, ":"); both {
		return base, files
	}
	return image, ""
}

func load(dir string) (r record, err error) {
	text, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	return r, err
}

// start starts process 1 and greets it.
func (c *container) start(ctx context.Context, s box.State) error {
	if err := c.launch(); err != nil {
		return err
	}
	return c.greet(ctx, s)
}

// greetLimit is how long process 1 may take to answer.
const greetLimit = time.Minute

func (c *container) greet(ctx context.Context, s box.State) error {
	p, err := connect(c.dir)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, greetLimit, fmt.Errorf("process 1 did not answer within %v", greetLimit))
	defer stop()
	return c.Begin(ctx, p, s)
}

// ID implements [engine.Container].
func (c *container) ID() string { return c.id }

// ImageID implements [engine.Container].
func (c *container) ImageID() string { return c.Image }

// Remove implements [engine.Container].
func (c *container) Remove(ctx context.Context) error {
	err := c.fleet.Remove(ctx, c.id)
	c.Close()
	return err
}

// carrier is a [box.Carrier].
type carrier struct{ c *container }

func (k carrier) Name() string                         { return k.c.id }
func (k carrier) Dir() string                          { return k.c.WorkDir }
func (carrier) Admit() (func(), error)                 { return func() {}, nil }
func (carrier) DiskUse(context.Context) *vocab.DiskUse { return nil }
func (carrier) Destroyed(f error) error                { return box.Destroyed(f) }

func (k carrier) Connect(ctx context.Context) error {
	c := k.c
	const doing = "running a command in"
	f := c.gone(doing)
	if f != nil && exitCode(c.dir) == wire.ExitCrash {
		return k.Start(ctx)
	}
	if f != nil {
		return f
	}
	err := c.greet(ctx, box.Running)
	switch f := c.gone(doing); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case f != nil:
		return f
	}
	return fault.New(fault.Transient, doing+" container "+c.id, err)
}

// gone returns why the container does not run; nil if it does.
func (c *container) gone(doing string) error {
	op := doing + " container " + c.id
	_, alive, started := state(c.dir)
	switch {
	case alive:
		return nil
	case !started:
		return fault.New(fault.Transient, op, errors.New("the container was removed"))
	}
	switch code := exitCode(c.dir); code {
	case wire.ExitLease:
		return fault.New(fault.Transient, op, errors.New("the container stopped because batch did not contact it for too long"))
	default:
		return fault.New(fault.Transient, op, fmt.Errorf("the container was killed (exit code %d)", code))
	}
}

func (k carrier) Stop(_ context.Context, doing string) error {
	if err := kill(k.c.dir); err != nil {
		return fault.New(fault.Transient, doing+" container "+k.c.id, err)
	}
	return nil
}

func (k carrier) Start(ctx context.Context) error {
	if err := k.c.start(context.WithoutCancel(ctx), box.Restarted); err != nil {
		return fault.New(fault.Transient, "starting container "+k.c.id+" again", err)
	}
	return nil
}
