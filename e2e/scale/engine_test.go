package scale

import (
	"context"
	"crypto/rand"
	"errors"
	"net"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// simulation is an engine. Its containers are in the process of [machine]. Here, a container is a
// [box.Box] with a stream of its own, as with Docker.
type simulation struct {
	socket string
}

// Create implements [engine.Engine].
func (e *simulation) Create(ctx context.Context, s engine.Spec) (engine.Container, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", e.socket)
	if err != nil {
		return nil, fault.New(fault.Transient, "creating a container", err)
	}
	c := &container{Spec: s, id: rand.Text()}
	var key wire.Key
	_, _ = rand.Read(key[:])
	c.Box = box.New(c, key, s.Unattended)
	if err := c.Begin(ctx, pipe{conn}, box.Started); err != nil {
		c.Close()
		return nil, fault.New(fault.Transient, "starting a container", err)
	}
	return c, nil
}

// The rest of an engine, for a run without a crash.

func (e *simulation) Attach(context.Context, string) (engine.Container, error) {
	return nil, fault.New(fault.Transient, "attaching", errLost)
}
func (e *simulation) Owned(context.Context) ([]engine.Owned, error) { return nil, nil }
func (e *simulation) Adopt(context.Context, string, string) error   { return nil }
func (e *simulation) Remove(context.Context, string) error          { return nil }
func (e *simulation) CheckNetwork(context.Context, string) error    { return nil }
func (e *simulation) Ready(context.Context) error                   { return nil }
func (e *simulation) About(context.Context) (engine.About, error) {
	return engine.About{CPUs: 64, OS: "linux"}, nil
}
func (e *simulation) Close() error { return nil }

var errLost = errors.New("the connection to a simulated container was lost")

// container is an [engine.Container] and its own [box.Carrier].
type container struct {
	*box.Box
	engine.Spec
	id string
}

func (c *container) ID() string                   { return c.id }
func (c *container) ImageID() string              { return c.Image }
func (c *container) Remove(context.Context) error { c.Close(); return nil }
func (c *container) Name() string                 { return c.id }
func (c *container) Dir() string                  { return c.WorkDir }
func (c *container) Connect(context.Context) error {
	return fault.New(fault.Transient, "connecting", errLost)
}
func (c *container) Stop(context.Context, string) error     { return errLost }
func (c *container) Start(context.Context) error            { return errLost }
func (c *container) Admit() (func(), error)                 { return func() {}, nil }
func (c *container) DiskUse(context.Context) *vocab.DiskUse { return nil }
func (c *container) Destroyed(f error) error                { return f }

type pipe struct{ net.Conn }

func (pipe) Said() string { return "" }
