package merging

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// rename moves a folder within a tree that is copied. Both paths are relative to a run directory.
type rename struct{ from, to string }

// path returns a path with the folder renamed.
func (r rename) path(path string) string {
	if path == r.from {
		return r.to
	}
	if rest, ok := strings.CutPrefix(path, r.from+string(filepath.Separator)); ok {
		return filepath.Join(r.to, rest)
	}
	return path
}

// copyTree copies a folder's files and folders, durably; links and other files are left out. A
// missing folder has none. A folder that is itself a link is refused.
func copyTree(files atomicfile.Files, from, to string, renames ...rename) error {
	if info, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err == nil && !info.IsDir() {
		return notCopied(from)
	}
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Dir(from), path)
		if err != nil {
			return err
		}
		for _, r := range renames {
			rel = r.path(rel)
		}
		target := filepath.Join(filepath.Dir(to), rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o755) //nolint:gosec // as every folder of a run directory
		case e.Type().IsRegular():
			if err := files.Inject.At("file.write"); err != nil {
				return err
			}
			return copyFile(path, target)
		}
		return nil
	})
	return atomicfile.Fault("copying "+from, err)
}

// notCopied is the fault of a link without whose content the new directory would not be whole.
func notCopied(path string) error {
	return fault.Newf(fault.Usage, "%s is a link", path).WithHint("a merge follows no links: put what it leads to in its place")
}

// copyFile copies a file with its mode and its time: a trajectory that is older than its journal
// is derived again.
func copyFile(from, to string) error {
	in, err := regular.Open(from)
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
