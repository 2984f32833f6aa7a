package memory

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxinit/packed"
	"batch.example/batch/internal/meminfo"
	"batch.example/batch/internal/owner"
	"batch.example/batch/sandbox/engine"
)

// fleet implements [engine.Engine].
type fleet struct {
	dir    string
	helper string // the directory with the helper's program
	me     owner.Owner
	before func(call string) error // see [engine.Options]
}

// needs are the programs of this machine that start.sh runs.
var needs = []string{"bash", "chroot", "cp", "env", "mkdir", "mknod", "ln", "mount", "setpriv"}

func open(ctx context.Context, dir string, o engine.Options) (engine.Engine, error) {
	const op = "starting the engine for tests"
	if os.Geteuid() != 0 {
		return nil, fault.Newf(fault.Host, "%s: it makes namespaces, which needs root", op)
	}
	for _, name := range needs {
		if _, err := exec.LookPath(name); err != nil {
			return nil, fault.New(fault.Host, op, err)
		}
	}
	dir, err := filepath.Abs(dir)
	f := &fleet{dir: dir, helper: filepath.Join(dir, ".helper"), me: owner.Self(), before: func(string) error { return nil }}
	if err == nil {
		err = f.unpack()
	}
	if err != nil {
		return nil, fault.New(fault.Host, op, err)
	}
	c, err := f.Create(ctx, engine.Spec{Image: "/", Unattended: time.Minute})
	if err == nil {
		err = c.Remove(ctx)
	}
	if err != nil {
		return nil, fault.New(fault.Host, op, err)
	}
	if o.Before != nil {
		f.before = o.Before
	}
	return f, nil
}

// unpack writes the helper's program, which another process may do at the same time.
func (f *fleet) unpack() error {
	name := filepath.Join(f.helper, "init")
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	program, err := packed.Unpack(packed.For(runtime.GOARCH))
	if err != nil {
		return err
	}
	temporary := filepath.Join(f.helper, rand.Text())
	return errors.Join(os.MkdirAll(f.helper, 0o755), os.WriteFile(temporary, program, 0o755), os.Rename(temporary, name))
}

// Create implements [engine.Engine].
func (f *fleet) Create(ctx context.Context, s engine.Spec) (engine.Container, error) {
	op := "creating a container from " + s.Image
	if err := check(op, s); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := f.before("create"); err != nil {
		return nil, fault.New(fault.Transient, op, err)
	}
	if s.WorkDir == "" {
		s.WorkDir = "/"
	}
	id := strings.ToLower(rand.Text())
	if s.Name == "" {
		s.Name = "batch-" + id
	}
	r := record{Spec: s, Owner: f.me.String(), Created: time.Now()}
	if s.Unattended > 0 {
		r.Expires = r.Created.Add(s.Unattended)
	}
	_, _ = rand.Read(r.Key[:])
	c := f.container(id, r)
	err := c.save()
	if err == nil {
		err = c.start(ctx, box.Started)
	}
	if err != nil && ctx.Err() == nil {
		err = fault.New(fault.Transient, op, err)
	}
	if err == nil {
		err = c.Enter(ctx, op, "container")
	}
	if err != nil {
		return nil, errors.Join(err, c.Remove(ctx))
	}
	return c, nil
}

// check refuses a Spec with something that this engine does not have.
func check(op string, s engine.Spec) error {
	if err := s.Check(op); err != nil {
		return err
	}
	if s.User != "" || s.Platform != "" || len(s.CapAdd) > 0 || len(s.Volumes)+len(s.Mounts)+len(s.Tmpfs)+len(s.Ulimits) > 0 || s.ReadOnly || s.Network != "" && s.Network != noNetwork {
		return fault.New(fault.Usage, op+": the engine for tests has no users, platforms, capabilities, volumes, mounts, limits or networks to choose", nil)
	}
	base, _ := split(s.Image)
	if at, err := os.Stat(base); err != nil || !at.IsDir() || !path.IsAbs(base) {
		return fault.Newf(fault.Instance, "%s: it is not a directory", op)
	}
	return nil
}

// Attach implements [engine.Engine].
func (f *fleet) Attach(ctx context.Context, id string) (engine.Container, error) {
	if err := f.before("attach"); err != nil {
		return nil, fault.New(fault.Transient, "attaching to container "+id, err)
	}
	r, err := load(filepath.Join(f.dir, id))
	if err != nil {
		return nil, fault.New(fault.Transient, "attaching to container "+id, errors.New("the container was removed"))
	}
	c := f.container(id, r)
	if err = c.gone("attaching to"); err == nil {
		again := false
		if again, err = c.Connect(ctx); again {
			err = fault.Newf(fault.Transient, "attaching to container %s: it was restarted, and the state of its commands is unknown", id)
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

const adopterFile = "adopter"

// Owned implements [engine.Engine].
func (f *fleet) Owned(context.Context) ([]engine.Owned, error) {
	dirs, err := filepath.Glob(filepath.Join(f.dir, "*", recordFile))
	out := make([]engine.Owned, 0, len(dirs))
	for _, name := range dirs {
		dir := filepath.Dir(name)
		r, err := load(dir)
		if err != nil { // it is being removed
			continue
		}
		o := engine.Owned{
			ID: filepath.Base(dir), Name: r.Name, Image: r.Image, State: "created", Created: r.Created, Expires: r.Expires,
			Run: r.Labels[engine.LabelRun], Instance: r.Labels[engine.LabelInstance], Attempt: r.Labels[engine.LabelAttempt], Lease: r.Labels[engine.LabelLease],
			Program: r.Labels[engine.LabelProgram] != "",
		}
		switch _, alive, started := state(dir); {
		case alive:
			o.State = engine.StateRunning
		case started:
			o.State = "exited"
		}
		by, _ := os.ReadFile(filepath.Join(dir, adopterFile))
		o.Adopter = string(by)
		o.Judge(r.Owner, f.me, true, time.Now())
		out = append(out, o)
	}
	return out, err
}

// Adopt implements [engine.Engine].
func (f *fleet) Adopt(_ context.Context, id, lease string) error {
	if err := write(filepath.Join(f.dir, id, adopterFile), owner.Adopter(lease)); err != nil {
		return fault.New(fault.Transient, "adopting container "+id, err)
	}
	return nil
}

// Remove implements [engine.Engine].
func (f *fleet) Remove(_ context.Context, id string) error {
	if id == "" || strings.ContainsAny(id, "./") { // not an id, and perhaps the path of more than one container
		return nil
	}
	dir := filepath.Join(f.dir, id)
	err := f.before("remove")
	if err == nil {
		err = kill(dir)
	}
	for end := time.Now().Add(endLimit); err == nil; time.Sleep(5 * time.Millisecond) {
		// The kernel may still be unmounting it, and its creator writing its exit code.
		if err = os.RemoveAll(dir); err == nil || time.Now().After(end) {
			break
		}
		err = nil
	}
	if err != nil {
		return fault.New(fault.Transient, "removing container "+id, err)
	}
	return nil
}

const noNetwork = "none"

// CheckNetwork implements [engine.Engine].
func (f *fleet) CheckNetwork(_ context.Context, name string) error {
	if name == "" || name == noNetwork {
		return nil
	}
	return fault.Newf(fault.Usage, "the engine for tests has no network %s", name)
}

// Ready implements [engine.Engine]: this engine is always there.
func (f *fleet) Ready(context.Context) error { return nil }

// About implements [engine.Engine].
func (f *fleet) About(ctx context.Context) (engine.About, error) {
	all, err := f.Owned(ctx)
	memory, _ := meminfo.Read(os.DirFS("/proc"))
	a := engine.About{
		Address: "memory:" + f.dir, Local: true, Store: f.dir, Name: f.me.Host, Version: "for tests",
		OS: "linux", Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Memory: memory.Total, RootDir: f.dir, ImageDir: f.dir,
		Containers: len(all), Unlimited: []string{"CPUs", "memory", "swap", "processes"},
	}
	for _, o := range all {
		if o.State == engine.StateRunning {
			a.Running++
		}
	}
	return a, err
}

// Close implements [engine.Engine].
func (f *fleet) Close() error { return nil }
