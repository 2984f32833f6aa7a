package sweeps

import (
	"path/filepath"
	"slices"
)

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
