package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/go-units"

	"batch.example/batch/docker/containers"
	"batch.example/batch/vocab"
)

// Sandbox is one instance's environment: a container, and how commands are run in it.
type Sandbox struct {
	host      *Host
	opened    context.Context // Open's, which ends when the run is told to stop
	container *containers.Container
	release   func()                               // the image
	remember  func(clean bool, took time.Duration) // how its scrub went; may be nil
	facts     Facts
}

// outputLimit is how much is kept of what a command of the agent prints, in bytes,
// unless that is its submission: a hundred times what a model is shown.
const outputLimit = 1 << 20

// Execute runs a command of the agent's, and waits for it or for its time limit. The id is its
// name in this sandbox: a command that was handed to it before, also by a process
// that was killed meanwhile, is not run again but waited for, and gives the result
// that it had or comes to. The empty id is no name. What the agent did to its
// container is [vocab.ErrDestroyed] where nothing can be executed in it any more.
func (s *Sandbox) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	cmd := s.command()
	cmd.ID, cmd.Script = id, command
	return s.execute(ctx, cmd)
}

// command is what the agent's commands have in common.
func (s *Sandbox) command() containers.Command {
	return containers.Command{
		Args: s.host.Interpreter, Dir: s.host.Container.WorkDir, Env: s.host.Env, Timeout: s.host.Timeout,
		Limit: outputLimit, Longer: s.host.Longer, Ahead: true, Fresh: s.host.Fresh,
	}
}

// scriptLimit is for a script of ours, which the largest repository may need.
const scriptLimit = 10 * time.Minute

// Script runs a script of ours, with bash and a time limit of its own where Execute
// has the agent's interpreter and limit.
func (s *Sandbox) Script(ctx context.Context, script string) (vocab.Output, error) {
	return s.execute(ctx, containers.Command{Script: script, Dir: s.host.Container.WorkDir, Env: s.host.Env, Timeout: scriptLimit})
}

func (s *Sandbox) execute(ctx context.Context, cmd containers.Command) (vocab.Output, error) {
	out, err := s.container.Run(ctx, cmd)
	if errors.Is(err, vocab.ErrDestroyed) {
		err = fmt.Errorf("the agent has made its environment unusable: %w", err)
	}
	out.Timeout, out.Note = cmd.Timeout, note(out)
	return out, err
}

// overDisk says that a container's files take too much, and what comes of it.
func overDisk(d *vocab.DiskUse) string {
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
func note(r vocab.Output) string {
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

// Alive returns nil when commands can still be run. It waits for an engine that is away.
func (s *Sandbox) Alive(ctx context.Context) error {
	if err := s.host.engine.Ready(ctx); err != nil {
		return err
	}
	_, err := s.container.Run(ctx, containers.Command{Script: ":"})
	return err
}

// Scrubbed is told how the scrub of the repository went: whether there was nothing to
// do, see boxgit.Clean, and how long it took.
func (s *Sandbox) Scrubbed(clean bool, took time.Duration) {
	if s.remember != nil {
		s.remember(clean, took)
	}
}

// Facts is what the sandbox turned out to be.
func (s *Sandbox) Facts() Facts { return s.facts }

// Vars are those of [Vars].
func (s *Sandbox) Vars() map[string]any { return s.host.vars }

// Close ends and removes the container. It works after a cancelled Open or Execute too,
// in a bounded time of its own, and may be called twice. It waits for an engine that is
// away, unless Open's context is done.
func (s *Sandbox) Close() error {
	defer s.release()
	return s.container.Remove(s.opened)
}
