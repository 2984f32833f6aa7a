package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"

	"batch.example/batch/agent"
	"batch.example/batch/agent/config"
	"batch.example/batch/docker"
	"batch.example/batch/imagecache"
	"batch.example/batch/solver"
)

// sandboxes opens containers for the solver.
type sandboxes struct {
	engine *docker.Engine
	images *imagecache.Cache
	env    config.EnvironmentConfig
	prefix string // --image-prefix
	cpus   int    // that the engine has
	run    string // id of this run, in labels and names
	vars   templateVars
	outer  map[string]string // forward_env as it is here
	pulled func(instance string, p imagecache.Progress)
	lease  string       // see docker.LabelLease
	left   *inheritance // of earlier runs
	scrubs *scrubs      // nil: nothing is known
}

func (a *app) newSandboxes(e *docker.Engine, images *imagecache.Cache, env config.EnvironmentConfig, prefix string, cpus int) *sandboxes {
	s := &sandboxes{engine: e, images: images, env: env, prefix: prefix, cpus: cpus, run: strings.ToLower(rand.Text()[:10]), outer: map[string]string{}}
	for _, name := range forwarded(env) {
		if v := a.getenv(name); v != "" {
			s.outer[name] = v
		}
	}
	s.vars = hostVars()
	return s
}

// Open implements solver.Sandboxes.
func (s *sandboxes) Open(ctx context.Context, o solver.Opening) (solver.Sandbox, error) {
	ref := o.Instance.ImageName(s.prefix)
	start := time.Now()
	c, err := s.left.take(ctx, o)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return s.box(ctx, c, func() {}, solver.Facts{Adopted: true, Image: ref, Start: time.Since(start)}), nil
	}
	o.Report("pull")
	wanted := imagecache.Ref(ref, s.env.Flags().Platform)
	image, release, err := s.images.Acquire(ctx, o.Instance.ID, wanted, func(p imagecache.Progress) { s.pulled(o.Instance.ID, p) })
	if err != nil {
		return nil, err
	}
	pull := time.Since(start)
	from := s.base(ctx, wanted, image, o)
	letGo := func() { from.release(); release() }
	o.Report("start")
	if c, err = s.engine.Create(ctx, s.spec(ref, from.image, o)); err != nil {
		letGo()
		return nil, err
	}
	b := s.box(ctx, c, letGo, solver.Facts{
		Image: ref, Digest: image.Digest, Known: from.known, Scrubbed: from.image != image.ID,
		Pull: pull, Scrub: from.waited, Start: time.Since(start) - pull - from.waited,
	})
	if b.facts.Scrubbed {
		b.facts.ImageID = image.ID // what it is made of is that image, as an agent may see it
	}
	if from.key != "" {
		b.remember = func(clean bool, took time.Duration) { s.remember(from.key, clean, took) }
	}
	return b, nil
}

// unattended is how long a container waits for a run that was killed to be resumed,
// and then ends by itself: longer than its agent may work.
func unattended(lifetime time.Duration) time.Duration {
	if lifetime == 0 {
		return 0
	}
	return 2*lifetime + time.Hour
}

func (s *sandboxes) box(ctx context.Context, c *docker.Container, release func(), f solver.Facts) *box {
	f.Container, f.ImageID, f.Settings = c.ID(), c.ImageID(), map[string]any{"image": f.Image}
	b := &box{
		templateVars: s.vars, run: ctx, engine: s.engine, container: c, release: release, env: s.env, facts: f,
		environ: append(environ(s.outer), environ(s.env.Env)...), // the later one wins
	}
	c.Prepare(ctx, b.command())
	return b
}

func (s *sandboxes) spec(ref, id string, o solver.Opening) docker.Spec {
	spec := docker.Spec{
		Name:       "batch-" + s.run + "-" + strings.ToLower(rand.Text()[:8]),
		Image:      ref,
		ImageID:    id,
		WorkDir:    s.env.Cwd,
		Unattended: unattended(s.env.Lifetime()),
		Labels: map[string]string{
			docker.LabelRun:      s.run,
			docker.LabelInstance: o.Instance.ID,
			docker.LabelAttempt:  strconv.Itoa(o.Attempt),
			docker.LabelLease:    s.lease,
		},
	}
	flags := s.env.Flags()
	spec.Env = environ(flags.Env)
	spec.User, spec.Network, spec.Platform = flags.User, flags.Network, flags.Platform
	spec.Memory, spec.MemorySwap, spec.ShmSize = flags.Memory, flags.MemorySwap, flags.ShmSize
	spec.CPUs, spec.PidsLimit, spec.Disk = flags.CPUs, flags.Pids, flags.Disk
	if flags.CPUs == s.env.CPUs { // not of run_args, which the engine judges
		spec.CPUs = min(flags.CPUs, float64(s.cpus))
	}
	spec.CapAdd, spec.CapDrop = flags.CapAdd, flags.CapDrop
	spec.SecurityOpt, spec.ExtraHosts = flags.SecurityOpt, flags.ExtraHosts
	return spec
}

// box is one container as the solver and the agent see it.
type box struct {
	templateVars
	run       context.Context // ends when the run is told to stop
	engine    *docker.Engine
	container *docker.Container
	release   func()                               // the image
	remember  func(clean bool, took time.Duration) // how its scrub went; may be nil
	env       config.EnvironmentConfig
	environ   []string
	facts     solver.Facts
}

// outputLimit is how much is kept of what a command of the agent prints, in bytes,
// unless that is its submission: a hundred times what a model is shown.
const outputLimit = 1 << 20

// Execute implements solver.Sandbox. What the agent did to its container
// is agent.ErrDestroyed where nothing can be executed in it any more.
func (b *box) Execute(ctx context.Context, id, command string) (agent.Output, error) {
	cmd := b.command()
	cmd.ID, cmd.Script = id, command
	return b.execute(ctx, cmd)
}

// command is what the agent's commands have in common.
func (b *box) command() docker.Command {
	return docker.Command{
		Args: b.env.Interpreter, Dir: b.env.Cwd, Env: b.environ, Timeout: b.env.CommandTimeout(),
		Limit: outputLimit, Longer: agent.Submitting, Ahead: true, Fresh: b.env.FreshShell(),
	}
}

// scriptLimit is for a script of ours, which the largest repository may need.
const scriptLimit = 10 * time.Minute

// Script implements solver.Sandbox.
func (b *box) Script(ctx context.Context, script string) (agent.Output, error) {
	return b.execute(ctx, docker.Command{Script: script, Dir: b.env.Cwd, Env: b.environ, Timeout: scriptLimit})
}

func (b *box) execute(ctx context.Context, cmd docker.Command) (agent.Output, error) {
	res, err := b.container.Run(ctx, cmd)
	if errors.Is(err, docker.ErrDestroyed) {
		err = fmt.Errorf("%w: %w", agent.ErrDestroyed, err)
	}
	return agent.Output{
		Bytes: res.Output, Total: res.Total, ExitCode: res.ExitCode,
		TimedOut: res.TimedOut, Timeout: cmd.Timeout, Duration: res.Duration, Note: note(res),
	}, err
}

// overDisk says that a container's files take too much, and what comes of it.
func overDisk(d *docker.DiskUse) string {
	size := func(n int64) string { return units.BytesSize(float64(n)) }
	text := fmt.Sprintf("The files in the container take %s, more than the %s that they may.", size(d.Used), size(d.Limit))
	if d.Killed {
		text += " All its processes were killed."
	}
	switch {
	case d.Used <= d.Limit: // by now
		return fmt.Sprintf("The files in the container took more than the %s that they may: all its processes were killed.", size(d.Limit))
	case d.Left > 0:
		return text + fmt.Sprintf(" Remove some: after %d more commands above the limit, nothing can be run any more.", d.Left)
	}
	return text + " Nothing can be run any more."
}

// note says what befell the container beside the command, for the model to read.
func note(r docker.Result) string {
	switch {
	case r.Disk != nil:
		return overDisk(r.Disk)
	case r.Restarted && r.ExitCode == 137:
		return "The container ran out of memory, and all its processes were killed. Its files are as they were."
	case r.Restarted:
		return "All other processes in the container were killed to make room for this command."
	case r.OOM:
		return "A process was killed because the container's memory was used up."
	}
	return ""
}

// Alive implements solver.Sandbox.
func (b *box) Alive(ctx context.Context) error {
	if err := b.engine.Ready(ctx); err != nil {
		return err
	}
	_, err := b.container.Run(ctx, docker.Command{Script: ":"})
	return err
}

// Scrubbed implements solver.Rememberer.
func (b *box) Scrubbed(clean bool, took time.Duration) {
	if b.remember != nil {
		b.remember(clean, took)
	}
}

// Facts implements solver.Sandbox.
func (b *box) Facts() solver.Facts { return b.facts }

// Close implements solver.Sandbox. It waits for an engine that is away, unless
// the run is told to stop.
func (b *box) Close() error {
	defer b.release()
	return b.container.Remove(b.run)
}

func environ(vars map[string]string) []string {
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}
