package merging

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// copyTree copies a folder's files and folders, durably, to where place puts their paths below from. Links
// and other files are left out. A missing folder has none. A folder that is itself a link is refused, and
// a journal that is one.
func copyTree(files atomicfile.Files, from string, place func(path string) string) error {
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if path == from && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch target := place(rel); {
		case e.IsDir():
			return os.MkdirAll(target, 0o755) //nolint:gosec // as every folder of a run directory
		case e.Type().IsRegular():
			if err := files.Inject.At("file.write"); err != nil {
				return err
			}
			return copyFile(path, target)
		case e.Type() == fs.ModeSymlink && (path == from || e.Name() == journalFile):
			return notCopied(path)
		}
		return nil
	})
	return atomicfile.Fault("copying "+from, err)
}

// notCopied is the fault of a link without whose content the new directory would not be whole.
func notCopied(path string) error {
	return fault.Newf(fault.Usage, "%s is a link", path).WithHint("a merge follows no links: put what it leads to in its place")
}

// openFile opens a file that is not a link.
func openFile(path string) (*os.File, error) {
	f, err := regular.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, notCopied(path)
	}
	return f, err
}

// copyFile copies a file with its mode and its time: a trajectory that is older than its journal
// is derived again.
func copyFile(from, to string) error {
	in, err := openFile(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := regular.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// concat joins the files of this name, in the order of the directories.
func (c Config) concat(tmp, name string) error {
	var text []byte
	found := false
	for _, dir := range c.Dirs {
		f, err := openFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var one []byte
		if err == nil {
			one, err = io.ReadAll(f)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return atomicfile.Fault("reading "+name, err)
		}
		text, found = append(text, one...), true
		if len(one) > 0 && one[len(one)-1] != '\n' { // its writer was killed
			text = append(text, '\n')
		}
	}
	if !found {
		return nil
	}
	return atomicfile.Fault("writing "+name, c.Files.Write(filepath.Join(tmp, name), 0o644, atomicfile.Bytes(text)))
}

// syncFolders makes the names of all files durable.
func syncFolders(dir string) error {
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return atomicfile.Files{}.SyncDir(path)
	})
	return atomicfile.Fault("writing "+dir, err)
}
