package atomicfile

import (
	"errors"
	"io/fs"
	"syscall"

	"batch.example/batch/fault"
)

// Fault returns a Host fault for a failed read or write in the run directory: nothing else
// can be saved there either. It keeps the kind of an error that is a fault already, and
// returns nil for nil.
func Fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if kind := fault.KindOf(err); kind != fault.Unknown {
		return fault.New(kind, op, err)
	}
	f := fault.New(fault.Host, op, err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return f.WithHint("free some space there and run the same command again; what is on disk is kept")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return f.WithHint("make the output directory writable for this user, or choose another with -o")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return f.WithHint("raise the limit of open files (ulimit -n) or run with fewer workers")
	case errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS):
		return f.WithHint("the file system there cannot do that, as some network mounts have no locks: choose a local directory with -o")
	}
	return f
}
