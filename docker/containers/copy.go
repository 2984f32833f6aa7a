package containers

import (
	"context"
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
func (c *Container) CopyIn(ctx context.Context, name string, mode fs.FileMode, data []byte) error {
	op := "copying " + name + " into container " + c.short()
	if !path.IsAbs(name) || path.Clean(name) == "/" {
		return fault.New(fault.Usage, op, fmt.Errorf("expected the absolute path of a file"))
	}
	if len(data) > CopyInLimit {
		return fault.New(fault.Usage, op, fmt.Errorf("%d bytes, more than the limit of %d", len(data), CopyInLimit))
	}
	m := wire.Put{Path: path.Clean(name), Mode: uint64(mode.Perm()), Data: data}
	q := &question{frame: wire.Frame{Kind: wire.KindPut, Data: wire.Encode(m)}}
	return c.transfer(ctx, q, op)
}

// CopyOut returns the bytes of the file at the absolute path name, read as the container's
// user. It follows links. A path that does not exist is an error that is
// fs.ErrNotExist; something that is not a file, or larger than CopyLimit, is an Instance fault.
func (c *Container) CopyOut(ctx context.Context, name string) ([]byte, error) {
	op := "copying " + name + " out of container " + c.short()
	if !path.IsAbs(name) {
		return nil, fault.New(fault.Usage, op, fmt.Errorf("expected an absolute path"))
	}
	q := &question{frame: wire.Frame{Kind: wire.KindGet, Data: wire.Encode(wire.Get{Path: name, Limit: CopyLimit})}}
	if err := c.transfer(ctx, q, op); err != nil {
		return nil, err
	}
	return q.out, nil
}

func (c *Container) transfer(ctx context.Context, q *question, op string) error {
	if _, err := c.ask(ctx, q); err != nil {
		return err
	}
	if err := q.failure(); err != nil {
		return fault.New(fault.Instance, op, err)
	}
	return nil
}

// failure returns the error in the Done that answers the question.
func (q *question) failure() error {
	var m wire.Done
	if err := wire.Decode(q.answer.Data, &m); err != nil || m.Message == "" {
		return err
	}
	return &initError{syscall.Errno(m.Errno), m.Message}
}

// initError is what went wrong in the container.
type initError struct {
	number syscall.Errno // Linux's
	text   string
}

func (e *initError) Error() string { return e.text }

// Is makes errors.Is(err, fs.ErrNotExist) and the like work.
func (e *initError) Is(target error) bool { return target == fs.ErrNotExist && e.number == 2 }
