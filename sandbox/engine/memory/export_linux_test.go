package memory

import (
	"context"
	"errors"

	"batch.example/batch/sandbox/engine"
)

// Restart ends all processes of a container and starts it again.
func Restart(ctx context.Context, c engine.Container) error {
	k := carrier{c.(*container)}
	return errors.Join(k.Stop(ctx, "restarting"), k.Start(ctx))
}
