//go:build !linux

package memory

import (
	"context"
	"runtime"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

func open(context.Context, string, engine.Options) (engine.Engine, error) {
	return nil, fault.Newf(fault.Host, "the engine for tests needs Linux, not %s", runtime.GOOS)
}
