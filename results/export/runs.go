package export

import (
	"path/filepath"
	"slices"
	"strconv"

	"batch.example/batch/results"
	"batch.example/batch/results/sweeps"
)

// Run is a run directory to export from.
type Run struct {
	Name     string // its folder's name, in a sweep SWEEP/CELL; unique in a list that [Open] made
	Snapshot *results.Snapshot
}

// Open reads run directories and the cells of sweeps that have begun. It takes no lock. Any
// other directory is a Usage fault.
func Open(dirs []string) ([]Run, error) {
	var runs []Run
	for _, dir := range dirs {
		if !sweeps.Is(dir) {
			snap, err := results.Read(dir)
			if err != nil {
				return nil, err
			}
			runs = add(runs, baseOf(dir), snap)
			continue
		}
		x, err := sweeps.Read(dir)
		if err != nil {
			return nil, err
		}
		for i, cell := range x.Dirs(dir) {
			snap, err := sweeps.ReadCell(cell)
			if err != nil {
				return nil, err
			}
			if snap != nil {
				runs = add(runs, filepath.Join(baseOf(dir), x.Cells[i].Folder), snap)
			}
		}
	}
	return runs, nil
}

// add adds a run under an unused name.
func add(runs []Run, name string, snap *results.Snapshot) []Run {
	free := name
	for n := 2; slices.ContainsFunc(runs, func(r Run) bool { return r.Name == free }); n++ {
		free = name + "-" + strconv.Itoa(n)
	}
	return append(runs, Run{free, snap})
}

// baseOf returns the name of a folder, also of the current one.
func baseOf(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return filepath.Base(dir)
}
