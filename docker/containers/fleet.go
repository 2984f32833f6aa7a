// Package containers makes the containers of one Docker engine, runs commands in them
// and removes them, those of killed processes included. See the package docker for
// what a caller may rely on.
package containers

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/versions"
	"golang.org/x/sync/semaphore"

	"batch.example/batch/docker/boxinit"
	"batch.example/batch/docker/images"
	"batch.example/batch/docker/internal/engine"
	"batch.example/batch/docker/internal/owner"
	"batch.example/batch/fault"
)

const defaultLives = 4 // more gain nothing: BenchmarkLivesAtOnce

// sureAPI came with Docker 23.0. An engine before it can hang for ever when two
// containers end at the same time: its network's locks are taken in two orders
// (https://github.com/moby/moby/issues/46661).
const sureAPI = "1.42"

// Fleet is the containers of one engine. It is safe for concurrent use.
type Fleet struct {
	Init *boxinit.Volume // where their process 1 comes from

	engine   *engine.Conn
	images   *images.Store
	owner    owner.Owner
	disks    disks
	creates  *semaphore.Weighted // containers being made
	removals *semaphore.Weighted // and removed: apart, so that creates that hang hold up none
}

// New returns the containers of an engine with these images. As many as lives are
// created at the same time, and as many removed; 0 means 4.
func New(e *engine.Conn, store *images.Store, lives int) *Fleet {
	f := &Fleet{
		engine: e, images: store, owner: owner.Self(),
		creates: engine.AtMost(lives, defaultLives), removals: engine.AtMost(lives, defaultLives),
	}
	if versions.LessThan(e.API.ClientVersion(), sureAPI) {
		f.removals = semaphore.NewWeighted(1)
	}
	f.Init = boxinit.New(e, f.fill)
	return f
}

// fillExpiry is when nobody is still at work in the container that a volume is filled by.
const fillExpiry = 10 * time.Minute

// fill is the [boxinit.Fill].
func (f *Fleet) fill(ctx context.Context, image string, volume mount.Mount, files io.Reader) error {
	op := "putting batch's helper on the engine, by a container of " + image
	if err := f.engine.Ready(ctx); err != nil {
		return err
	}
	s := Spec{Image: image, Unattended: fillExpiry}
	c := &Container{engine: f.engine, fleet: f, id: "batch-" + strings.ToLower(rand.Text())} // a name will do
	_, err := f.engine.API.ContainerCreate(context.WithoutCancel(ctx),
		&container.Config{Image: image, Entrypoint: []string{boxinit.Path}, Labels: s.labels(time.Now(), f.owner)},
		&container.HostConfig{NetworkMode: networkNone, Mounts: []mount.Mount{volume}}, nil, nil, c.id)
	f.engine.Suspect(err)
	maybe := engine.Unanswered(err)
	if err = s.createFault(err, op); err == nil {
		err = f.engine.API.CopyToContainer(ctx, c.id, boxinit.Dir, files, container.CopyToContainerOptions{})
		if err != nil && strings.Contains(err.Error(), "file exists") { // another process has put it there meanwhile
			err = nil
		}
		err = f.engine.Blame(err, fault.Transient, op)
	}
	return errors.Join(err, c.retract(ctx, maybe))
}
