// Package sandbox opens environments in which commands of an agent, or of anybody
// who is not trusted, are executed: one container for each instance of a dataset.
//
// [Start] connects to an engine and reaps what dead runs left there. [Host.Open] sees
// to it that the image is there, takes over the container in which an earlier run
// worked on the instance or starts another one, and has its shell prepared.
// [Sandbox.Close] removes it, and [Host.Close] what else is left.
//
// Nothing is left behind for good: a container names the lease of its run, and the
// next Start on the engine removes those whose run is gone.
package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/imagecache"
)

// Config says where sandboxes are opened and what they have in common. The zero value
// works: containers without a network and limits, on the engine at the default socket.
type Config struct {
	Docker docker.Config
	State  string             // folder in which batch remembers which images are its own, see [StateDir]; empty: a temporary one
	Images imagecache.Options // without Notify and Log
	Prefix string             // registry or mirror that images are taken from
	Lease  string             // file that says whose the containers are, see [containers.LabelLease]; empty: none

	// Instances are those that sandboxes will be opened for, in their order: their
	// images are pulled ahead, until Drain is closed.
	Instances []dataset.Instance
	Drain     <-chan struct{}

	Container   containers.Spec         // of all; what is an instance's own is filled in
	MaxCPUs     float64                 // instead of Container's: so many, or all that the engine has where those are fewer; 0: as Container says
	Interpreter []string                // of the agent's commands; empty: bash
	Env         []string                // of all commands, beside the container's
	Timeout     time.Duration           // of a command; 0: none
	Longer      func(begin []byte) bool // of an output that begins so, nothing is dropped; nil: there is none
	Fresh       bool                    // the interpreter is started for each command, not before it

	// ShareScrubs remembers what the scrub of an image's git history came to, and
	// makes images of those that take long. It is right only where that depends on
	// nothing but the image.
	ShareScrubs bool

	Notify func(text string) // told what a person may want to know; nil ignores
	Pulled func(instance string, p imagecache.Progress)
	Log    *slog.Logger // nil discards
}

// reapLimit bounds the removal of what dead runs left.
const reapLimit = time.Minute

// Host is where sandboxes are opened: an engine, and the images there. It is safe for
// concurrent use.
type Host struct {
	Config
	engine *docker.Engine
	info   docker.Info
	images *imagecache.Cache
	run    string // id of this run, in labels and names
	vars   map[string]any
	left   *inheritance // of earlier runs
	scrubs *scrubs      // nil: nothing is known
	end    func()       // of the images
}

// Start connects to the engine and removes what dead runs left on it. The caller
// closes the Host. Errors are a *fault.Error's, and leave nothing to close.
func Start(ctx context.Context, c Config) (*Host, error) {
	h := newHost(c)
	stock, err := OpenStock(ctx, h.Docker, h.State, h.Log)
	if err != nil {
		return nil, err
	}
	h.engine, h.info, h.images = stock.engine, stock.info, stock.Cache(h.Images)
	h.reap(ctx)
	if h.left, err = inherit(ctx, h.engine, h.Lease, h.Log); err != nil {
		_ = stock.Close() // nothing was started through it
		return nil, err
	}
	if h.ShareScrubs {
		h.scrubs = &scrubs{dear: dearScrub, turns: make(chan struct{}, max(1, h.info.CPUs)), log: h.Log}
	}
	h.end = h.pullAhead(ctx)
	return h, nil
}

func newHost(c Config) *Host {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Notify == nil {
		c.Notify = func(string) {}
	}
	if c.Pulled == nil {
		c.Pulled = func(string, imagecache.Progress) {}
	}
	c.Docker.Log = c.Log
	c.Images.Notify, c.Images.Log = c.Notify, c.Log
	return &Host{Config: c, run: strings.ToLower(rand.Text()[:10]), vars: Vars()}
}

// Close removes what earlier runs left under the lease and nobody took over, and what
// dead runs left meanwhile: the engine may have been still making it for a killed
// process. Sandboxes must have been closed. It works when ctx is cancelled; it then
// does not wait for an engine that is away.
func (h *Host) Close(ctx context.Context) error {
	err := h.left.remove(ctx)
	if err != nil {
		err = fmt.Errorf("removing containers of an earlier run: %w", err)
	}
	h.end()
	h.reap(context.WithoutCancel(ctx))
	return errors.Join(err, h.engine.Close())
}

// CPUs is how many the engine has.
func (h *Host) CPUs() int { return h.info.CPUs }

// reap removes what dead runs left; that it cannot is no reason for a run to fail.
func (h *Host) reap(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, reapLimit)
	defer cancel()
	strays, err := h.engine.Reap(ctx)
	if err != nil {
		h.Log.Warn("removing containers of dead runs", "err", err)
	}
	if len(strays) > 0 {
		h.Notify(fmt.Sprintf("removed %d containers of dead runs", len(strays)))
	}
}

// pullAhead pulls the images of the instances until end is called, or the run drains.
func (h *Host) pullAhead(ctx context.Context) (end func()) {
	needs := make([]imagecache.Need, len(h.Instances))
	for i, in := range h.Instances {
		needs[i] = imagecache.Need{ID: in.ID, Ref: imagecache.Ref(in.ImageName(h.Prefix), h.Container.Platform)}
	}
	h.images.Plan(needs)
	ctx, cancel := context.WithCancel(ctx)
	var ahead sync.WaitGroup
	ahead.Go(func() { h.images.Prefetch(ctx) })
	ahead.Go(func() {
		select {
		case <-h.Drain:
			cancel()
		case <-ctx.Done():
		}
	})
	return func() {
		cancel()
		ahead.Wait()
		if err := h.images.Close(); err != nil {
			h.Log.Warn("writing the images' ledger", "err", err)
		}
	}
}
