package swebench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"batch.example/batch/internal/atomicfile"
)

// Log is what grading left of an instance: the folder of the official log tree.
type Log struct {
	Folder   string           // "" where there is none
	Sizes    map[string]int64 // of its files, by name
	Patch    []byte           // of patch.diff
	Resolved *bool            // as report.json says; nil where it does not
}

// LogNames are the files of an instance's log folder, in the order in which grading writes
// them.
func LogNames() []string { return []string{PatchName, ScriptName, OutputName, ReportName, RunLogName} }

// ReadLog looks at an instance's folder of the official log tree. A missing folder is an empty
// Log, and a report that cannot be read one without a verdict. An error is a Host fault.
func ReadLog(folder, id string) (Log, error) {
	l := Log{Folder: folder, Sizes: map[string]int64{}}
	for _, name := range LogNames() {
		path := filepath.Join(folder, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var text []byte
		if err == nil && (name == PatchName || name == ReportName) {
			text, err = os.ReadFile(path)
		}
		if err != nil {
			return l, atomicfile.Fault("reading the logs", err)
		}
		l.Sizes[name] = info.Size()
		switch name {
		case PatchName:
			l.Patch = text
		case ReportName:
			if one, err := parseReport(path, id, text); err == nil {
				l.Resolved = one.Resolved
			}
		}
	}
	return l, nil
}
