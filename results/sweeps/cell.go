package sweeps

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
)

// ReadCell reads the run directory of a cell; nil: the cell has not begun.
func ReadCell(dir string) (*results.Snapshot, error) {
	if _, err := os.Stat(filepath.Join(dir, manifest.File)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return results.Read(dir)
}
