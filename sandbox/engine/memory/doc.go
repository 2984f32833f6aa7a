// Package memory is an engine for tests: it runs the containers of package sandbox as plain
// processes of this machine, without Docker. Each container is batch's helper as process 1 of its
// own pid, mount, network, IPC and host name namespaces, so its commands, files, programs and
// connections are real.
//
// An image is a directory of this machine, such as / or an unpacked root file system. The image
// FILES:BASE is the directory BASE, and each container gets a copy of the directory FILES in it. A
// container writes to a layer of its own above the image, and has its own /tmp, which is empty at
// first. Other containers see neither, and no container changes the image.
//
// The state of an engine is a directory. Any process with the same directory has the same engine:
// it lists, attaches to, adopts and removes containers that other processes created, by the rules
// of package owner. A container outlives its creator.
//
// The files of a [engine.Spec] are the directory itself, not a copy; those of an image are its BASE.
//
// The engine limits no memory, processors, processes or disk. It has no networks, volumes, users
// and platforms, and adds no capabilities: a [engine.Spec] that asks for one of these is a Usage
// fault; limits are ignored. It needs Linux and root.
//
// Its API is not promised to other programs: see package batch.
package memory

import (
	"context"

	"batch.example/batch/sandbox/engine"
)

// At returns a function that connects to the engine with its state in dir. If this machine or
// user cannot run such an engine, connecting fails with a Host fault, for which a test may
// skip. The only option in use is Before, with the calls create, attach and remove. The caller
// must remove each container, and then dir.
func At(dir string) engine.Connect {
	return func(ctx context.Context, o engine.Options) (engine.Engine, error) { return open(ctx, dir, o) }
}
