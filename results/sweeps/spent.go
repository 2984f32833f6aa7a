package sweeps

import (
	"path/filepath"
	"slices"

	"batch.example/batch/fault"
)

// Beside returns the sweep of a run directory that is a cell, and the US dollars that its
// other cells have cost, because all cells share one limit; "" if the directory is not in a
// sweep.
func Beside(dir string) (sweep string, dollars float64, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", 0, fault.New(fault.Host, "finding the working directory", err)
	}
	folder, name := filepath.Split(abs)
	x, err := Read(filepath.Clean(folder))
	if err != nil || !slices.ContainsFunc(x.Cells, func(c Cell) bool { return c.Folder == name }) {
		return "", 0, nil
	}
	dollars, err = x.Spent(folder, map[string]bool{name: true})
	return filepath.Clean(folder), dollars, err
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
