package engine

import (
	"context"
	"errors"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
)

// tryLimit is the time limit of the command in a container that is tried.
const tryLimit = time.Minute

// Try creates a container, in which a command must work, and removes it.
func Try(ctx context.Context, e Engine, s Spec) error {
	c, err := e.Create(ctx, s)
	if err != nil {
		return err
	}
	out, err := c.Run(ctx, box.Command{Script: "echo works", Timeout: tryLimit})
	if said := string(out.Bytes); err == nil && said != "works\n" {
		err = fault.Newf(fault.Instance, "`echo works` in a container of %s: exit code %d, output %q", s.Image, out.ExitCode, said)
	}
	return errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
}
