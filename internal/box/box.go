// Package box is the client of batch's helper (internal/boxinit), which is process 1 of a
// container. It runs commands in the container, starts programs and copies files, over any
// stream that reaches the helper. It contains no engine: what an engine does for a container is in
// [Carrier], which the engine's package implements.
package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"batch.example/batch/fault"
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
	flows   map[string]*flow     // by id
	visited *Listener            // takes connections from the container; nil: none
	early   *Listener            // the same, before the first Listen; nil: no connection came before it
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
		connecting: semaphore.NewWeighted(1), stop: make(chan struct{}), open: map[string]*question{}, flows: map[string]*flow{},
	}
	b.alive.Go(b.keepAlive)
	return b
}

// Close ends the connection; the container continues to run. It may be called twice.
func (b *Box) Close() {
	b.mu.Lock()
	l, was, early := b.link, b.closed, b.early
	b.link, b.closed = nil, true
	b.mu.Unlock()
	if was {
		return
	}
	close(b.stop)
	if l != nil {
		l.close()
	}
	if early != nil {
		_ = early.Close()
	}
	b.alive.Wait()
}

// Connect connects to the helper unless there is a connection. Again means that the container
// was started again since it was created.
func (b *Box) Connect(ctx context.Context) (again bool, err error) {
	l, err := b.connected(ctx)
	return err == nil && (l.again || b.restarts.Load() > 0), err
}

// Enter checks that commands can start in the container's directory. If they cannot, it returns an
// Instance fault that begins with op. Kind is the engine's word for a container, such as "pod".
func (b *Box) Enter(ctx context.Context, op, kind string) error {
	dir := b.carrier.Dir()
	_, err := b.do(ctx, wire.Frame{Kind: wire.KindReady, Data: wire.Encode(wire.Run{Args: []string{"-"}, Dir: dir})})
	if _, refused := errors.AsType[*Error](err); refused {
		return fault.Newf(fault.Instance, "%s: %s is not a directory that the %s's user can enter: %w", op, dir, kind, err).
			WithHint("use another image, or set `environment.cwd` to a directory that the image has")
	}
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

// The largest files that CopyIn and CopyOut take, in bytes.
const (
	CopyInLimit = 32 << 20
	CopyLimit   = 256 << 20
)

// CopyIn writes data to the file at the absolute path name, as the container's user,
// with the given permissions. It creates missing directories and replaces an existing
// file atomically. A path that the user may not write is an
// Instance fault.
func (b *Box) CopyIn(ctx context.Context, name string, mode fs.FileMode, data []byte) error {
	op := "copying " + name + " into container " + b.carrier.Name()
	if !path.IsAbs(name) || path.Clean(name) == "/" {
		return fault.New(fault.Usage, op, fmt.Errorf("expected the absolute path of a file"))
	}
	if len(data) > CopyInLimit {
		return fault.New(fault.Usage, op, fmt.Errorf("%d bytes, more than the limit of %d", len(data), CopyInLimit))
	}
	m := wire.Put{Path: path.Clean(name), Mode: uint64(mode.Perm()), Data: data}
	_, err := b.transfer(ctx, op, wire.Frame{Kind: wire.KindPut, Data: wire.Encode(m)})
	return err
}

// CopyOut returns the bytes of the file at the absolute path name, read as the container's
// user. It follows links. A path that does not exist is an error that is
// fs.ErrNotExist; something that is not a file, or larger than CopyLimit, is an Instance fault.
func (b *Box) CopyOut(ctx context.Context, name string) ([]byte, error) {
	op := "copying " + name + " out of container " + b.carrier.Name()
	if !path.IsAbs(name) {
		return nil, fault.New(fault.Usage, op, fmt.Errorf("expected an absolute path"))
	}
	return b.transfer(ctx, op, wire.Frame{Kind: wire.KindGet, Data: wire.Encode(wire.Get{Path: name, Limit: CopyLimit})})
}

func (b *Box) transfer(ctx context.Context, op string, f wire.Frame) ([]byte, error) {
	out, err := b.do(ctx, f)
	if _, refused := errors.AsType[*Error](err); refused {
		return nil, fault.New(fault.Instance, op, err)
	}
	return out, err
}

// Error is an error in the container that the helper reports.
type Error struct {
	Errno syscall.Errno // Linux's, on any system
	text  string
}

// Error implements error.
func (e *Error) Error() string { return e.text }

// Is makes errors.Is(err, fs.ErrNotExist) work.
func (e *Error) Is(target error) bool { return target == fs.ErrNotExist && e.Errno == 2 }

// destroyed is an error that is vocab.ErrDestroyed; its text stays the same.
type destroyed struct{ error }

// Is makes errors.Is(err, vocab.ErrDestroyed) true.
func (destroyed) Is(target error) bool { return target == vocab.ErrDestroyed }

// Unwrap returns the cause.
func (d destroyed) Unwrap() error { return d.error }

// Destroyed makes f, the Instance fault of a container that can no longer run commands, a
// [vocab.ErrDestroyed], for a [Carrier] that knows that the container's own commands did it.
func Destroyed(f error) error {
	if e, ok := errors.AsType[*fault.Error](f); ok { // without its hint, which is about the image
		f = &fault.Error{Op: e.Op, Kind: e.Kind, Err: e.Err}
	}
	return destroyed{f}
}
