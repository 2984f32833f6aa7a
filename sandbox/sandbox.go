package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/docker/go-units"
	"golang.org/x/sys/unix"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
	"batch.example/batch/vocab"
)

// Sandbox is one instance's environment, a container in which commands run.
type Sandbox struct {
	host      *Host
	site      *site
	instance  string          // id
	opened    context.Context // the context of Open, which ends when the run is stopped
	container engine.Container
	release   func() // releases the image and the place
	facts     Facts
	at        commandPlace

	scrub      scrubbing
	baseCommit string                      // of the instance
	preamble   []byte                      // what the shell prints before each output: see CheckShell
	began      space                       // what was free before its first command; zero: unknown
	lost       atomic.Pointer[fault.Error] // why it cannot be used any more; nil: it can
	closed     sync.Once
}

// outputLimit is how many bytes of a command's output are kept, unless the output is the
// submission: a hundred times the text that a model is shown.
const outputLimit = 1 << 20

// Execute runs a command of the agent and waits for its end or its time limit. The id
// identifies the command in this sandbox: if a command with the id was started before, even
// by a process that was killed meanwhile, Execute does not run it again but waits for it
// and returns its result. Commands with an empty id are always run. If the agent has made
// its container unable to execute commands, the error is [vocab.ErrDestroyed]. If the output may be
// wrong because the engine's disk is full, the error is [engine.ErrNoSpace], and the sandbox cannot be
// used any more.
func (s *Sandbox) Execute(ctx context.Context, id, command string) (vocab.Output, error) {
	cmd := s.command()
	cmd.ID, cmd.Script = id, command
	if longer := s.host.Longer; longer != nil {
		cmd.Longer = func(begin []byte) bool { return longer(bytes.TrimPrefix(begin, s.preamble)) }
	}
	out, err := s.execute(ctx, cmd)
	out = s.quiet(out)
	if err == nil {
		err = s.spoiled(ctx, &out, s.host.Longer != nil && s.host.Longer(out.Bytes))
	}
	return out, err
}

// command returns the settings that all commands of the agent share.
func (s *Sandbox) command() box.Command {
	return box.Command{
		Args: s.at.as(s.at.user, s.host.Interpreter), Dir: s.at.dir, Env: s.host.Env, Timeout: s.host.Timeout,
		Limit: outputLimit, Longer: s.host.Longer, Ahead: true, Fresh: s.host.Fresh,
	}
}

// scriptLimit is the time limit of batch's own scripts. The largest repositories need it.
const scriptLimit = 10 * time.Minute

// Script runs one of batch's own scripts. Unlike Execute, it uses bash and scriptLimit, not
// the agent's interpreter and time limit.
func (s *Sandbox) Script(ctx context.Context, script string) (vocab.Output, error) {
	out, err := s.execute(ctx, box.Command{Script: script, Dir: s.at.dir, Env: s.host.Env, Timeout: scriptLimit})
	if err == nil {
		err = s.spoiled(ctx, &out, false)
	}
	return out, err
}

func (s *Sandbox) execute(ctx context.Context, cmd box.Command) (vocab.Output, error) {
	if lost := s.lost.Load(); lost != nil {
		return vocab.Output{}, lost
	}
	out, err := s.container.Run(ctx, cmd)
	err = s.host.elsewhere(s.site, err)
	if errors.Is(err, vocab.ErrDestroyed) {
		err = fmt.Errorf("the agent has made its environment unusable: %w", err)
	}
	out.Timeout, out.Note = cmd.Timeout, note(out)
	return out, err
}

// overDisk is a text for the model: the container's files exceed their limit, and the
// consequences.
func overDisk(d *vocab.DiskUse) string {
	size := func(n int64) string { return units.BytesSize(float64(n)) }
	text := fmt.Sprintf("The files in the container take %s, more than the limit of %s.", size(d.Used), size(d.Limit))
	if d.Killed {
		text += " All its processes were killed."
	}
	switch {
	case d.Used <= d.Limit: // they no longer exceed it
		return fmt.Sprintf("The files in the container took more than the limit of %s: all its processes were killed.", size(d.Limit))
	case d.Left == 1:
		return text + " Remove some: after 1 more command above the limit, no command can be run any more."
	case d.Left > 0:
		return text + fmt.Sprintf(" Remove some: after %d more commands above the limit, no command can be run any more.", d.Left)
	}
	return text + " No command can be run any more."
}

// note is a text for the model about what else happened to the container during the
// command.
func note(r vocab.Output) string {
	switch {
	case r.Disk != nil:
		return overDisk(r.Disk)
	case r.Restarted && r.ExitCode == 137:
		return "The container ran out of memory, and all its processes were killed. Its files are unchanged."
	case r.Restarted:
		return "All other processes in the container were killed to make room for this command."
	case r.OOM:
		return "A process was killed because the container ran out of memory."
	}
	return ""
}

// Alive returns nil if commands can still be run. It waits for an engine that is away.
func (s *Sandbox) Alive(ctx context.Context) error {
	if lost := s.lost.Load(); lost != nil {
		return lost
	}
	err := s.site.engine.Ready(ctx)
	if err == nil {
		_, err = s.container.Run(ctx, box.Command{Script: ":"})
	}
	return s.host.elsewhere(s.site, err)
}

// Facts describes the sandbox and how it was opened.
func (s *Sandbox) Facts() Facts { return s.facts }

// Vars returns what the function [Vars] returns for the image of the sandbox. A task's also have its
// working directory and its network.
func (s *Sandbox) Vars() map[string]any {
	vars := Vars(s.facts.Image.Ref)
	maps.Copy(vars, s.at.shown)
	return vars
}

// Vars returns the template variables for a sandbox of an image: its name, and the members
// of Python's platform.uname() on this machine, which mini-swe-agent's templates use.
func Vars(image string) map[string]any {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		host, _ := os.Hostname()
		return map[string]any{"image": image, "system": "", "node": host, "release": "", "version": "", "machine": ""}
	}
	return map[string]any{
		"image":   image,
		"system":  unix.ByteSliceToString(u.Sysname[:]),
		"node":    unix.ByteSliceToString(u.Nodename[:]),
		"release": unix.ByteSliceToString(u.Release[:]),
		"version": unix.ByteSliceToString(u.Version[:]),
		"machine": unix.ByteSliceToString(u.Machine[:]),
	}
}
