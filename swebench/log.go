package swebench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// Log describes an instance's folder in the official log tree.
type Log struct {
	Folder   string           // "" where there is none
	Sizes    map[string]int64 // of the files, by name
	Patch    []byte           // content of patch.diff
	Resolved *bool            // from report.json; nil if it has no verdict
}

// LogNames returns the names of the files in an instance's log folder, in the order in which
// grading writes them.
func LogNames() []string { return []string{PatchName, ScriptName, OutputName, ReportName, RunLogName} }

// ReadLog reads an instance's folder of the official log tree. It returns an empty Log for a
// missing folder, and a Log without a verdict if the report cannot be read. An error is a Host
// fault.
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
			text, err = regular.ReadFile(path)
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
