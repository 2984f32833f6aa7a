package sandbox

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/box"
	"batch.example/batch/vocab"
)

// Run runs a script in a new bash that has the container's environment, without the agent's
// interpreter, variables and limits. The output is kept in the container's memory until the
// script has ended, so with a memory limit at most a sixteenth of the limit or
// [box.MaxOutput] is kept, whichever is more.
func (s *Sandbox) Run(ctx context.Context, c vocab.Command) (vocab.Output, error) {
	cmd := box.Command{Script: c.Script, Dir: c.Dir, Timeout: c.Timeout, Limit: c.Limit, Fresh: true}
	if cmd.Dir == "" {
		cmd.Dir = s.at.dir
	}
	if memory := s.host.Container.Memory; memory > 0 {
		cmd.Limit = min(cmd.Limit, max(memory/16, box.MaxOutput))
	}
	out, err := s.container.Run(ctx, cmd)
	out.Timeout = cmd.Timeout
	return out, s.host.elsewhere(s.site, err)
}

// Write writes data to a file in the container: see [engine.Container]. Of data that is larger than
// an engine takes at once, it writes the parts beside the file and appends them. Data for which the
// container has no room is an Instance fault.
func (s *Sandbox) Write(ctx context.Context, name string, mode fs.FileMode, data []byte) error {
	if len(data) <= box.CopyInLimit {
		return s.host.elsewhere(s.site, s.container.CopyIn(ctx, name, mode, data))
	}
	file := name
	for part := range slices.Chunk(data, box.CopyInLimit) {
		if err := s.Write(ctx, file, mode, part); err != nil {
			return err
		}
		if file != name {
			if err := s.join(ctx, file, name); err != nil {
				return err
			}
		}
		file = name + ".part"
	}
	return nil
}

// join appends a part to a file.
func (s *Sandbox) join(ctx context.Context, part, name string) error {
	part = bash.Quote(part)
	out, err := s.Run(ctx, vocab.Command{Script: "cat " + part + " >> " + bash.Quote(name) + " && rm " + part, Dir: "/"})
	if err == nil && (out.ExitCode != 0 || out.OOM || out.Disk != nil) {
		err = fault.Newf(fault.Instance, "writing %s: %.300s", name, bytes.TrimSpace(out.Bytes)).WithHint("raise the container's limits")
	}
	return err
}

// Launch is a program for [Sandbox.Launch].
type Launch struct {
	Script string   // starts it, in the agent's interpreter
	Env    []string // NAME=value, in addition to that of the agent's commands
	Stdin  string
}

// Launch runs a program as a command of the agent, without its time limit, and waits for its end. The output is
// that of both of its streams: the beginning and the end, if it is long. It ends as [Sandbox.Execute] says of a
// command with the id: a program that runs already, or has ended, is not started again in the container.
func (s *Sandbox) Launch(ctx context.Context, id string, l Launch) (vocab.Output, error) {
	cmd := s.command()
	cmd.ID, cmd.Script, cmd.Env = id, l.Script, slices.Concat(cmd.Env, l.Env)
	cmd.Timeout, cmd.Longer, cmd.Ahead, cmd.Fresh = 0, nil, false, true
	cmd.Keep = true // its end is on record only when what it changed is
	if l.Stdin != "" {
		file := "/tmp/.batch-stdin-" + id
		if err := s.Write(ctx, file, 0o600, []byte(l.Stdin)); err != nil {
			return vocab.Output{}, err
		}
		cmd.Script += " <" + file
	}
	out, err := s.execute(ctx, cmd)
	return s.quiet(out), err
}

// Clear ends all processes in the container.
func (s *Sandbox) Clear(ctx context.Context) error {
	return s.host.elsewhere(s.site, s.container.Clear(ctx, "ending the processes in"))
}

// Listen returns a listener for the connections of programs in the container: see [box.Listener].
func (s *Sandbox) Listen(ctx context.Context) (net.Listener, error) {
	l, err := s.container.Listen(ctx)
	if err != nil {
		return nil, s.host.elsewhere(s.site, err)
	}
	return l, nil
}

// Program is a program for [Sandbox.Stream].
type Program = box.Program

// Stream is a program that was started: its stdin and stdout, see [box.Stream].
type Stream interface {
	io.ReadWriteCloser
	Exit() (code int, ended bool)
}

// Stream starts a program beside the agent's commands, in their directory and with their
// environment plus the Program's Env. See [box.Box.Stream]. The caller must Close the
// Stream.
func (s *Sandbox) Stream(ctx context.Context, p Program) (Stream, error) {
	if p.Dir == "" {
		p.Dir = s.at.dir
	}
	p.Env = slices.Concat(s.host.Env, p.Env)
	stream, err := s.container.Stream(ctx, p)
	if err != nil {
		return nil, s.host.elsewhere(s.site, err)
	}
	return stream, nil
}
