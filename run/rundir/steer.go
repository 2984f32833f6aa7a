package rundir

import (
	"context"
	"log/slog"
)

// Steerer lets other programs watch and change work.
type Steerer interface {
	// Begin is called when the work begins. It returns the View to use in place of v, and a function
	// that is called when the work has ended. Drain makes no further instance begin, and stop
	// ends the running attempts. Draining is closed when no further instance begins, for whatever
	// reason.
	Begin(v View, log *slog.Logger, drain, stop func(), draining <-chan struct{}) (_ View, end func())
}

// steered begins the steering of work, if it has one.
func (j Job) steered(ctx context.Context, drain <-chan struct{}, v View, log *slog.Logger) (_ context.Context, _ <-chan struct{}, _ View, end func()) {
	if j.Steer == nil {
		return ctx, drain, v, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	draining, drainNow := context.WithCancel(context.Background())
	go func() {
		select {
		case <-drain: // a nil channel never drains
			drainNow()
		case <-draining.Done():
		}
	}()
	v, ended := j.Steer.Begin(v, log, drainNow, cancel, draining.Done())
	return ctx, draining.Done(), v, func() {
		ended()
		drainNow()
		cancel()
	}
}
