// Package atomicfile replaces files so that a reader, or a crash at any
// moment, finds either the whole old content or the whole new one.
//
// When a function returns nil, the new content is also durable: the file and
// its directory entry have been synced. The package does not promise an order between
// two files that are written one after the other, or anything on a file system
// without atomic renames.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
	"batch.example/batch/internal/regular"
)

const bufferSize = 64 << 10

// Files replaces files. The zero value is ready to use.
type Files struct {
	Inject *inject.Plan // for tests: called at file.write, file.sync, file.rename and dir.sync
}

// Write replaces the file at path with what write writes. If write or the
// disk fails, Write returns the error and the old file stays unchanged. Perm is
// subject to the umask. The temporary file is beside path, and is always removed except
// after a crash; [Sweep] removes what a crash left.
func (f Files) Write(path string, perm os.FileMode, write func(io.Writer) error) error {
	if err := f.WriteUnsynced(path, perm, write); err != nil {
		return err
	}
	return f.SyncDir(filepath.Dir(path))
}

// WriteUnsynced is Write without the sync of the directory: the replacement is
// atomic, but durable only after SyncDir. It is for a caller that writes
// several files into one directory and syncs the directory once.
func (f Files) WriteUnsynced(path string, perm os.FileMode, write func(io.Writer) error) (err error) {
	// The temporary directory is given because renameio would otherwise probe
	// $TMPDIR, where a rename could cross file systems.
	if err := f.Inject.At("file.write"); err != nil {
		return err
	}
	tmp, err := renameio.NewPendingFile(path,
		renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(perm))
	if err != nil {
		return err
	}
	defer tmp.Cleanup() //nolint:errcheck // a no-op after success; otherwise the first error matters
	w := bufio.NewWriterSize(tmp, bufferSize)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// CloseAtomicallyReplace syncs and renames in one call. A crash between the two leaves
	// the same files as a crash before both.
	for _, point := range []string{"file.sync", "file.rename"} {
		if err := f.Inject.At(point); err != nil {
			return err
		}
	}
	return tmp.CloseAtomicallyReplace()
}

// Bytes writes data, as the function that [Files.Write] takes.
func Bytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// SyncDir makes creations, renames and removals in dir durable.
func (f Files) SyncDir(dir string) error {
	if err := f.Inject.At("dir.sync"); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Rename gives a file a new name, which is durable on return.
func (f Files) Rename(from, to string) error {
	err := f.Inject.At("file.rename")
	if err == nil {
		err = os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	return f.SyncDir(filepath.Dir(to))
}

// MoveAside renames path to the first free path.corrupt-<n>, which it returns.
func (f Files) MoveAside(path string) (string, error) {
	aside, err := free(path + ".corrupt-")
	if err != nil {
		return "", err
	}
	return aside, f.Rename(path, aside)
}

// KeepCopy copies the file at path to the first free path.original-<n>, which it returns.
func (f Files) KeepCopy(path string) (string, error) {
	in, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	kept, err := free(path + ".original-")
	if err != nil {
		return "", err
	}
	return kept, f.Write(kept, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// free returns the first name, of a beginning and a number from 1, that no file has.
func free(beginning string) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprint(beginning, n)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
}

// leftover reports whether name is a temporary file of an interrupted
// Write to a file called base.
func leftover(name, base string) bool {
	digits, ok := strings.CutPrefix(name, "."+base)
	if !ok || digits == "" {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// Sweep removes the temporary files that crashed writers of the named files
// left among names, the entries of dir. No process may be writing in dir.
func Sweep(dir string, names []string, bases ...string) error {
	for _, name := range names {
		if !strings.HasPrefix(name, ".") {
			continue
		}
		for _, base := range bases {
			if !leftover(name, base) {
				continue
			}
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}

// NewFolder makes the folder dir with what fill writes into the folder tmp. That stands
// beside dir, is renamed at the end, and is removed where something fails: dir is there
// complete or not at all. See [FreeFolder] for a dir that exists. Errors are faults.
func (f Files) NewFolder(dir string, fill func(tmp string) error) (err error) {
	if err := FreeFolder(dir); err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Clean(dir))
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // as every folder that is to be published
		return Fault("making "+parent, err)
	}
	tmp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".")
	if err != nil {
		return Fault("making a folder in "+parent, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(Fault("writing "+dir, err), os.RemoveAll(tmp))
		}
	}()
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil { //nolint:gosec // MkdirTemp makes it private
		return err
	}
	if err := syscall.Rename(tmp, dir); err != nil { // os.Rename refuses an empty folder
		return &os.LinkError{Op: "rename", Old: tmp, New: dir, Err: err}
	}
	return f.SyncDir(parent)
}

// FreeFolder reports as a Usage fault that something would be lost if dir were made: it
// exists, and is not an empty folder.
func FreeFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fault.New(fault.Usage, "looking at "+dir, err).WithHint("name a folder that does not exist yet")
	}
	return fault.Newf(fault.Usage, "%s exists and is not empty", dir).WithHint("remove it, or name another folder")
}

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
