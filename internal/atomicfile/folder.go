package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"batch.example/batch/fault"
)

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
