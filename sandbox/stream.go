package sandbox

import (
	"context"
	"io"
	"slices"

	"batch.example/batch/internal/box"
)

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
		p.Dir = s.host.Container.WorkDir
	}
	p.Env = slices.Concat(s.host.Env, p.Env)
	stream, err := s.container.Stream(ctx, p)
	if err != nil {
		return nil, s.host.elsewhere(s.site, err)
	}
	return stream, nil
}
