// Package box is the client of batch's helper (internal/boxinit), which is process 1 of a
// container. It runs commands in the container, starts programs and copies files, over any
// stream that reaches the helper. It contains no engine: what an engine does for a container is in
// [Carrier], which the engine's package implements.
package box

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"batch.example/batch/internal/boxinit/wire"
	"batch.example/batch/vocab"
)

// Pipe is the stdin and the stdout of the helper, which stay open without a connection. A new Pipe
// replaces the old one, also another process's. Close ends a Read and a Write that are under way.
type Pipe interface {
	io.ReadWriteCloser
	SetWriteDeadline(t time.Time) error
	// Said returns the beginning of the helper's stderr, which has something only if the
	// helper failed. It is called when no Read is under way.
	Said() string
}

// Carrier has the operations of an engine for one container. A Box calls Connect, Stop and Start one
// at a time, and the others at any time.
type Carrier interface {
	// Name is the container's name in errors, and Dir the directory of commands that name none.
	Name() string
	Dir() string

	// Connect reaches the helper and calls [Box.Begin]. It waits for an engine that is
	// away, and starts a container again that has ended by itself. Its error is a fault.
	Connect(ctx context.Context) error
	// Stop ends the container with all its processes. Doing begins its error.
	Stop(ctx context.Context, doing string) error
	// Start starts a container again that has ended, with its files, and calls [Box.Begin].
	Start(ctx context.Context) error

	// Admit refuses a command of a container that must not run any more. Otherwise the
	// Box calls answered when the command has a result.
	Admit() (answered func(), err error)
	// DiskUse returns how far the container is above its disk limit after a command; nil if
	// it is not.
	DiskUse(ctx context.Context) *vocab.DiskUse
	// Destroyed turns f, the Instance fault of a container that can no longer run commands,
	// into the right blame: its own commands destroyed it, or the engine did.
	Destroyed(f error) error
}

// Box is one container, as its helper sees it. It is safe for concurrent use. The caller must
// Close it.
type Box struct {
	carrier    Carrier
	key        wire.Key
	unattended time.Duration

	connecting *semaphore.Weighted // held while a connection is made
	restarts   atomic.Int64        // times started again
	worked     sync.Map            // interpreters that commands were run with
	stop       chan struct{}       // closed at the end
	alive      sync.WaitGroup

	mu      sync.Mutex
	link    *link                // nil: not connected
	heard   time.Time            // when the last frame arrived
	open    map[string]*question // by id
	streams map[string]*Stream   // by id
	forget  []string             // commands whose results the init need not keep
	forged  int                  // connections that ended because of bytes that the init did not write
	closed  bool
}

// New returns the Box of a container whose helper has the key, and runs for the given time
// without a connection; 0: forever. It connects to nothing. The engine makes a random key for each
// container, and stores it where only batch can read it, for another process that attaches.
func New(c Carrier, key wire.Key, unattended time.Duration) *Box {
	b := &Box{
		carrier: c, key: key, unattended: unattended,
		connecting: semaphore.NewWeighted(1), stop: make(chan struct{}), open: map[string]*question{}, streams: map[string]*Stream{},
	}
	b.alive.Go(b.keepAlive)
	return b
}

// Close ends the connection; the container continues to run. It may be called twice.
func (b *Box) Close() {
	b.mu.Lock()
	l, was := b.link, b.closed
	b.link, b.closed = nil, true
	b.mu.Unlock()
	if was {
		return
	}
	close(b.stop)
	if l != nil {
		l.close()
	}
	b.alive.Wait()
}

// Connect connects to the helper unless there is a connection. Again means that the container
// was started again since it was created.
func (b *Box) Connect(ctx context.Context) (again bool, err error) {
	l, err := b.connected(ctx)
	return err == nil && (l.again || b.restarts.Load() > 0), err
}

// Enter returns an [Error] if commands cannot start in the directory.
func (b *Box) Enter(ctx context.Context, dir string) error {
	_, err := b.do(ctx, wire.Frame{Kind: wire.KindReady, Data: wire.Encode(wire.Run{Args: []string{"-"}, Dir: dir})})
	return err
}

// Clear ends all processes of the container except the helper. If some cannot be killed, it
// starts the container again. Doing begins its error.
func (b *Box) Clear(ctx context.Context, doing string) error {
	_, err := b.do(ctx, wire.Frame{Kind: wire.KindClear})
	if _, refused := errors.AsType[*Error](err); refused {
		return b.restart(ctx, doing)
	}
	return err
}
