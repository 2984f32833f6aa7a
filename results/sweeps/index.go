// Package sweeps reads and writes the index of a sweep: the run directories in its folder,
// and the run of each. A sweep is a grid of entries (a model with a configuration) and
// attempts over one selection of instances; each cell of the grid is an ordinary run
// directory in the sweep's folder. Processes that work in different cells of a sweep share
// its cost limit through a [Share].
//
// Its API is not promised to other programs: see package batch.
package sweeps

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// File is the name of the index in the sweep's folder.
const File = "sweep.json"

// Version is the version of sweep.json that this package writes.
const Version = 2

// Index is sweep.json. It has no secrets: the caller keeps them out.
type Index struct {
	Format  int       `json:"format_version"`
	Batch   string    `json:"batch_version"`
	Created time.Time `json:"created"`
	Argv    []string  `json:"argv"`          // of the last `batch sweep` or `batch merge`, without the program's name
	Dir     string    `json:"dir,omitempty"` // the folder that it was started in
	// CostLimit is the limit on the cost of all cells together, in US dollars; 0: no limit.
	CostLimit float64 `json:"cost_limit,omitempty"`
	Cells     []Cell  `json:"cells"` // entry by entry, each with its attempts in order
}

// Cell is one run directory of a sweep.
type Cell struct {
	Folder  string   `json:"folder"` // in the sweep's
	Entry   string   `json:"entry"`  // name of the model with its configuration: cells with the same name are its attempts
	Attempt int      `json:"attempt"`
	Model   string   `json:"model"`
	Config  []string `json:"config"` // the values of -c, from left to right, including the attempt's
	Argv    []string `json:"argv"`   // the `batch run` that runs it alone, without its directory; for people

	// Request is the same as a value.
	Request *manifest.Request `json:"request,omitempty"`

	// Parameters has the model_kwargs in which attempts usually differ, as the model gets
	// them: seed and temperature, if they are set.
	Parameters map[string]any `json:"parameters,omitempty"`
}

// Is reports whether dir is the folder of a sweep.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, File))
	return err == nil
}

// Read reads the index of the sweep in dir. A missing index is fs.ErrNotExist; a broken one or
// one of another format version is a Usage fault.
func Read(dir string) (*Index, error) {
	path := filepath.Join(dir, File)
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, atomicfile.Fault("reading the index of the sweep", err)
	}
	var x Index
	if err := json.Unmarshal(text, &x); err != nil {
		return nil, fault.New(fault.Usage, "reading "+path, err)
	}
	if err := manifest.CheckFormat(path, x.Format, Version); err != nil {
		return nil, err
	}
	for i, c := range x.Cells {
		if !filepath.IsLocal(c.Folder) || c.Folder == "." {
			return nil, fault.Newf(fault.Usage, "reading %s: cells[%d].folder is %q: expected a folder inside %s", path, i, c.Folder, dir)
		}
	}
	return &x, nil
}

// Write replaces the index of the sweep in dir. At every instant the old or the new index is
// there, whole.
func (x *Index) Write(dir string) error {
	x.Format = Version
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(x); err != nil {
		return fault.New(fault.Bug, "encoding the index of a sweep", err)
	}
	err := atomicfile.Files{}.Write(filepath.Join(dir, File), 0o644, atomicfile.Bytes(b.Bytes()))
	return atomicfile.Fault("writing the index of the sweep", err)
}

// Dirs returns the run directories of a sweep's cells, in order.
func (x *Index) Dirs(dir string) []string {
	dirs := make([]string, len(x.Cells))
	for i, c := range x.Cells {
		dirs[i] = filepath.Join(dir, c.Folder)
	}
	return dirs
}

// Runs returns the run directories that a path names: of the folder of a sweep, those of the cells that have
// begun, else the path itself.
func Runs(path string) ([]string, error) {
	if !Is(path) {
		return []string{path}, nil
	}
	x, err := Read(path)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(x.Dirs(path), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, manifest.File))
		return errors.Is(err, fs.ErrNotExist)
	}), nil
}

// ReadCell reads the run directory of a cell; nil: the cell has not begun.
func ReadCell(dir string) (*results.Snapshot, error) {
	if _, err := os.Stat(filepath.Join(dir, manifest.File)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return results.Read(dir)
}

// Beside returns the sweep of a run directory that is a cell, and the US dollars that its
// other cells have cost, because all cells share one limit; "" if the directory is not in a
// sweep.
func Beside(dir string) (sweep string, dollars float64, err error) {
	x, abs := of(dir)
	if x == nil {
		return "", 0, nil
	}
	sweep, name := filepath.Split(abs)
	dollars, err = x.Spent(sweep, map[string]bool{name: true})
	return filepath.Clean(sweep), dollars, err
}

// Of returns the folder of the sweep of a run directory that is a cell; "" if it is none.
func Of(dir string) string {
	if x, _ := of(dir); x == nil {
		return ""
	}
	return filepath.Join(dir, "..")
}

// of returns the index of the sweep that has dir as a cell, and the cell's absolute path; nil: none has.
func of(dir string) (*Index, string) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, ""
	}
	x, err := Read(filepath.Dir(abs))
	if err != nil || !slices.ContainsFunc(x.Cells, func(c Cell) bool { return c.Folder == filepath.Base(abs) }) {
		return nil, ""
	}
	return x, abs
}

// Spent returns the US dollars that the cells of the sweep in dir have cost, except some.
func (x *Index) Spent(dir string, except map[string]bool) (dollars float64, err error) {
	for _, cell := range x.Cells {
		if except[cell.Folder] {
			continue
		}
		snap, err := ReadCell(filepath.Join(dir, cell.Folder))
		if err != nil {
			return 0, err
		}
		if snap != nil {
			dollars += snap.Spent
		}
	}
	return dollars, nil
}
