package sandbox

import (
	"context"
	"io/fs"
	"time"

	"batch.example/batch/internal/box"
	"batch.example/batch/vocab"
)

// Command is a script for [Sandbox.Run].
type Command struct {
	Script  string
	Dir     string        // empty: the containers' directory
	Timeout time.Duration // 0: none
	Limit   int64         // bytes of output to keep; 0: [box.MaxOutput]
}

// Run runs a script in a new bash that has the container's environment, without the agent's
// interpreter, variables and limits. The output is kept in the container's memory until the
// script has ended, so with a memory limit at most a sixteenth of the limit or
// [box.MaxOutput] is kept, whichever is more.
func (s *Sandbox) Run(ctx context.Context, c Command) (vocab.Output, error) {
	cmd := box.Command{Script: c.Script, Dir: c.Dir, Timeout: c.Timeout, Limit: c.Limit, Fresh: true}
	if cmd.Dir == "" {
		cmd.Dir = s.host.Container.WorkDir
	}
	if memory := s.host.Container.Memory; memory > 0 {
		cmd.Limit = min(cmd.Limit, max(memory/16, box.MaxOutput))
	}
	out, err := s.container.Run(ctx, cmd)
	out.Timeout = cmd.Timeout
	return out, s.host.elsewhere(s.site, err)
}

// Write writes data to a file in the container: see [containers.Container.CopyIn].
func (s *Sandbox) Write(ctx context.Context, name string, mode fs.FileMode, data []byte) error {
	return s.host.elsewhere(s.site, s.container.CopyIn(ctx, name, mode, data))
}
