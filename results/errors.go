package results

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"batch.example/batch/fault"
)

// diskFault blames the machine for a failed read or write under the run
// directory: nothing else can be saved there either. Blame that is known stays.
func diskFault(op string, err error) error {
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

const maxIDBytes = 200 // leaves room for the suffixes of file names, 255 bytes in all

// checkID refuses an instance id that cannot name a folder.
func checkID(id string) error {
	var why string
	switch {
	case id == "":
		why = "is empty"
	case len(id) > maxIDBytes:
		why = fmt.Sprintf("is longer than %d bytes", maxIDBytes)
	case strings.HasPrefix(id, "."):
		why = "begins with a dot"
	case strings.ContainsAny(id, "/\\\x00\n"):
		why = "holds a slash, a backslash, a NUL or a newline"
	case reserved(id):
		why = "is the name of one of the run directory's own files"
	default:
		return nil
	}
	return fault.Newf(fault.Instance, "instance id %q %s and cannot name a folder", id, why)
}

// reserved tells the names of the directory's own files. Package dataset, which
// may not import this one, refuses the same when a row is read: change both.
func reserved(id string) bool {
	id = strings.ToLower(id) // the file system may take no note of case
	switch id {
	case predsFile, statusesFile, parquetFile, manifestFile, batchLogFile:
		return true
	}
	return strings.HasPrefix(id, predsFile+".corrupt-")
}
