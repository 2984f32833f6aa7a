package view

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/results/trajectory"
)

// place is a directory that has attempts.
type place struct {
	Name  string // unique name for addresses and tables
	Dir   string
	Sweep string // name of its sweep, if it is a cell; otherwise empty
	Entry string // model and configuration of a cell
}

// deepest is the maximum depth of a run directory below an argument.
const deepest = 4

// find returns the run directories of roots, in order. A root is a run directory, a sweep, or a folder of
// either. A root without a run directory is a Usage fault.
func find(roots []string) ([]place, error) {
	var list []place
	for _, root := range roots {
		info, err := os.Stat(root)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Newf(fault.Usage, "%s does not exist", root).WithHint("name a run directory, the folder of a sweep, or a folder of them")
		}
		if err != nil {
			return nil, fault.New(fault.Usage, "reading "+root, err)
		}
		if !info.IsDir() {
			return nil, fault.Newf(fault.Usage, "%s is a file", root).WithHint("name its folder; batch show reads one file")
		}
		found := below(filepath.Clean(root), 0)
		if len(found) == 0 {
			return nil, fault.Newf(fault.Usage, "%s has no run directory", root).
				WithHint("a run directory has a manifest.json, a preds.json, or folders with trajectories")
		}
		list = append(list, found...)
	}
	return distinct(list), nil
}

// below returns the run directories in dir, sorted.
func below(dir string, depth int) []place {
	if sweeps.Is(dir) {
		return cells(dir)
	}
	if isRun(dir) {
		return []place{{Name: nameOf(dir), Dir: dir}}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || depth == deepest {
		return nil
	}
	var list []place
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, below(filepath.Join(dir, e.Name()), depth+1)...)
		}
	}
	return list
}

// nameOf returns the name of a run directory: its path, made absolute for . and .. because browsers remove
// these from addresses.
func nameOf(dir string) string {
	if dir == "." || dir == ".." {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
	}
	return dir
}

// cells returns the cells of a sweep that have started.
func cells(dir string) (list []place) {
	x, err := sweeps.Read(dir)
	if err != nil {
		return nil
	}
	for i, cell := range x.Dirs(dir) {
		if _, err := os.Stat(cell); err == nil {
			list = append(list, place{Name: cell, Dir: cell, Sweep: dir, Entry: x.Cells[i].Entry})
		}
	}
	return list
}

// isRun reports whether dir is a run directory of batch or of another tool.
func isRun(dir string) bool {
	for _, name := range []string{manifest.File, swebench.PredsName} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return len(trajectory.Instances(dir)) > 0
}

// distinct removes duplicate directories.
func distinct(list []place) []place {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(p place) bool {
		key := p.Dir
		if real, err := filepath.EvalSymlinks(key); err == nil {
			key = real
		}
		if abs, err := filepath.Abs(key); err == nil {
			key = abs
		}
		was := seen[key]
		seen[key] = true
		return was
	})
}
