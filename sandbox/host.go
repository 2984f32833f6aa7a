// Package sandbox opens environments in which commands of an agent, or other untrusted
// commands, are executed: one container for each instance of a dataset.
//
// [Start] connects to one or several engines and removes the containers that crashed runs left there.
// [Host.Open] pulls the image if it is missing, takes over the container in which an
// earlier run worked on the instance or starts a new one, and prepares its shell.
// [Sandbox.Close] begins to remove the container, and [Host.Close] waits for that and removes
// all other containers of the run.
//
// No container stays forever: each names the lease of its run, and the next Start on the
// engine removes the containers of crashed runs.
//
// With several engines, a sandbox is opened where its attempt's container still runs; otherwise
// on an engine with room that has its image, or if none has, on the one with most room. Engines
// share nothing: each has its images, its limit on disk space and its own removals. An engine that is
// absent at the start is added when it answers. When an engine has not answered for
// [engine.Options].Patience, faults of its sandboxes are Transient, and the next Open uses another
// engine. They are Host faults only when no engine is left.
//
// Its API is not promised to other programs: see package batch.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/sandbox/images"
)

// Config says where sandboxes are opened and what they have in common. Only Engines is required:
// then containers have neither network nor limits.
type Config struct {
	Engines []Engine       // at least one
	Options engine.Options // without Log
	State   string         // directory in which batch records which images it pulled, see [StateDir]; empty: a temporary one
	Images  images.Options // without Notify and Log
	Prefix  string         // registry or mirror from which images are pulled
	Private []string       // absolute paths that no container may see by a mount, beside the state
	Lease   string         // of the containers, see [owner.Lease]; empty: none

	// From is the lease of another directory, which this process also holds; empty: none.
	// Open can also take over a container that a run there left, if its Opening names it.
	// From then on only a run with both leases takes the container over.
	From string

	Name string // distinguishes the hosts of a [Shared]

	// Instances are the instances for which sandboxes will be opened, in that order. Their
	// images are pulled before they begin, until Drain is closed.
	Instances []dataset.Instance
	Drain     <-chan struct{}

	Tasks       Tasks                   // of instances with a Task
	Container   engine.Spec             // of all containers; Open adds what depends on the instance
	MaxCPUs     float64                 // replaces Container's CPUs, but is at most the number that the engine has; 0: Container's
	Interpreter []string                // of the agent's commands; empty: bash
	Env         []string                // of all commands, in addition to the container's
	Timeout     time.Duration           // of a command; 0: none
	Longer      func(begin []byte) bool // whether to keep more of an output, see [box.Command]; nil: never
	Program     bool                    // an agent of its own runs in each container, see [engine.LabelProgram]
	Fresh       bool                    // start the interpreter with each command, not ahead of it

	// LeaveAttempts leaves to a later Host the containers of earlier runs under the lease in
	// which attempts can be resumed. All sandboxes of this Host are then Pristine.
	LeaveAttempts bool

	// ShareScrubs saves the results of scrubbing the git history of images, and lets
	// containers share them if a scrub takes long. Set it only if a result depends on nothing
	// but the image.
	ShareScrubs bool

	Notify func(text string) // called with messages for the user; nil ignores
	Pulled func(instance string, p images.Progress)
	Log    *slog.Logger // nil discards
}

// reapLimit is the time limit for removing the containers of crashed runs.
const reapLimit = time.Minute

// Host opens sandboxes on engines and manages their images. It is safe for
// concurrent use.
type Host struct {
	Config
	*common
	alone bool                   // nothing is shared: the connection ends with the host
	run   string                 // id of this run, in labels
	left  map[*site]*inheritance // containers of earlier runs; guarded by common.mu

	leaving sync.WaitGroup // the removals of closed sandboxes
}

// Start connects to the engines and removes the containers that crashed runs left on them. The
// caller must Close the Host. An error is a *fault.Error; then there is nothing to close.
func Start(ctx context.Context, c Config) (*Host, error) {
	c = c.withDefaults()
	s, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	h, err := s.start(ctx, c)
	if err != nil {
		s.disconnect()
		return nil, err
	}
	h.alone = true
	list := make([]HostInstance, len(c.Instances))
	for i, in := range c.Instances {
		list[i] = HostInstance{Host: c.Name, Instance: in}
	}
	s.begin(ctx, c, list)
	return h, nil
}

// withDefaults fills in what c leaves out.
func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Notify == nil {
		c.Notify = func(string) {}
	}
	if c.Pulled == nil {
		c.Pulled = func(string, images.Progress) {}
	}
	c.Options.Log = c.Log
	c.Images.Notify, c.Images.Log = c.Notify, c.Log
	return c
}

// Close removes the containers of earlier runs under the lease that no instance took over
// (not with LeaveAttempts). If [Start] started the host, Close also ends the connection, and
// removes containers that crashed runs left meanwhile: the engine may have created one after
// its process was killed. All sandboxes must have been closed before; Close waits until
// their containers are removed. It also works if ctx is canceled; then it does not wait for
// an engine that is away.
func (h *Host) Close(ctx context.Context) error {
	h.leaving.Wait()
	h.forget(h) // first: nothing would tidy up on an engine that is added meanwhile
	err := h.tidy(context.WithoutCancel(ctx), func(ctx context.Context, s *site) error {
		if err := h.leftOn(s).remove(ctx, h.LeaveAttempts); err != nil {
			return fmt.Errorf("removing containers of an earlier run: %w", err)
		}
		return nil
	})
	if h.alone {
		return errors.Join(err, h.common.close(ctx))
	}
	return err
}

// CPUs is the number of CPUs that the engines have.
func (h *Host) CPUs() (n int) {
	for _, s := range h.all() {
		n += s.about.CPUs
	}
	return n
}
