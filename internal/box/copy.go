package box

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"syscall"

	"batch.example/batch/fault"
	"batch.example/batch/internal/boxinit/wire"
)

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
