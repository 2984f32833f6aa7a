package grades

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/idlist"
	"batch.example/batch/internal/regular"
)

// QuarantineFile is the name of the list of quarantined instances in a run directory.
const QuarantineFile = "quarantine.txt"

// Quarantined returns the ids in the quarantine.txt of the run directory dir, sorted;
// none if there is no file.
func Quarantined(dir string) ([]string, error) {
	path := filepath.Join(dir, QuarantineFile)
	text, err := regular.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, atomicfile.Fault("reading "+QuarantineFile, err)
	}
	return ParseQuarantine(path, string(text))
}

// ParseQuarantine returns the ids in the text of such a list, sorted. The error, a Usage
// fault, has name and the line's number.
func ParseQuarantine(name, text string) ([]string, error) {
	ids, err := idlist.Parse(name, text)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
