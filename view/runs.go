package view

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/swebench"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/results/trajectory"
)

// run is a run directory, with the state when it was last read.
type run struct {
	place
	maskOf func(*manifest.Manifest) *mask.Masker

	mu      sync.Mutex
	checked time.Time // when the directory was last checked for changes
	took    time.Duration
	files   string // sizes and times of its files at that time
	now     *runState
}

// runState is the immutable state of a run when it was read.
type runState struct {
	place
	scores scores.Run
	last   map[string]results.Record // the attempt that counts, by instance
	ids    []string                  // ids of all requested instances, sorted
	err    error                     // why the directory cannot be read
	row    runRow                    // row of the table of runs
	mask   *mask.Masker              // hides the run's secrets
}

// Limits for reading a directory.
const (
	lookEvery = time.Second // the shortest interval
	lookShare = 20          // a look may take at most 1/lookShare of the time
)

// read returns the state of the run. Concurrent callers share one look at the directory.
func (r *run) read() *runState {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil && time.Since(r.checked) < max(lookEvery, lookShare*r.took) {
		return r.now
	}
	began := time.Now()
	files := filesOf(r.Dir, r.now)
	if r.now == nil || files != r.files {
		r.now, r.files = readState(r.place), files
		var about *manifest.Manifest
		if s := r.now.scores.Snapshot; s != nil {
			about = s.Manifest
		}
		r.now.mask = r.maskOf(about)
	}
	r.checked, r.took = time.Now(), time.Since(began)
	return r.now
}

// readState reads a run directory.
func readState(p place) *runState {
	s := &runState{place: p, last: map[string]results.Record{}}
	sides, err := scores.Read(p.Dir)
	if err == nil && (len(sides) != 1 || len(sides[0].Runs) != 1) {
		err = fmt.Errorf("%s has %d entries", p.Dir, len(sides))
	}
	if err != nil { // perhaps a folder of trajectories
		s.ids, s.err = trajectory.Instances(p.Dir), err
		if len(s.ids) > 0 {
			s.err = nil
		}
		s.row = runRow{Run: p.Name, Sweep: p.Sweep, Entry: p.Entry, State: "trajectories", Asked: len(s.ids)}
		if s.err != nil {
			s.row.State, s.row.Notes = "unreadable", []string{s.err.Error()}
		}
		return s
	}
	s.scores = sides[0].Runs[0]
	if snap := s.scores.Snapshot; snap != nil {
		s.last = results.Latest(snap.Records)
		s.ids = snap.Asked()
	}
	s.row = s.rowOf(sides[0])
	return s
}

// filesOf describes the files that determine the state of a run, by sizes and times.
func filesOf(dir string, now *runState) string {
	text := make([]byte, 0, 4<<10)
	add := func(path string) {
		if info, err := os.Stat(path); err == nil {
			text = fmt.Appendf(text, "%d.%d;", info.Size(), info.ModTime().UnixNano())
		} else {
			text = append(text, ';')
		}
	}
	add(dir)
	add(results.LockPath(dir))
	add(grades.Path(dir))
	for _, name := range []string{manifest.File, swebench.PredsName, "quarantine.txt"} {
		add(filepath.Join(dir, name))
	}
	if now != nil {
		for _, id := range now.ids {
			add(results.JournalPath(dir, id))
		}
	}
	return string(text)
}

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

// below returns the run directories in dir, sorted, and then those that links lead to. A link to another
// folder is not followed: it could be anything.
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
	var list, linked []place
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			list = append(list, below(path, depth+1)...)
		case e.Type()&fs.ModeSymlink != 0:
			linked = append(linked, below(path, deepest)...)
		}
	}
	return append(list, linked...) // a directory and a link to it are one run, with the directory's name
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
