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
		info, err := os.Stat(filepath.Join(folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return l, atomicfile.Fault("reading the logs", err)
		}
		l.Sizes[name] = info.Size()
	}
	var err error
	if _, ok := l.Sizes[PatchName]; ok {
		if l.Patch, err = os.ReadFile(filepath.Join(folder, PatchName)); err != nil {
			return l, atomicfile.Fault("reading the logs", err)
		}
	}
	if _, ok := l.Sizes[ReportName]; !ok {
		return l, nil
	}
	path := filepath.Join(folder, ReportName)
	text, err := os.ReadFile(path)
	if err != nil {
		return l, atomicfile.Fault("reading the logs", err)
	}
	if one, err := parseReport(path, id, text); err == nil {
		l.Resolved = one.Resolved
	}
	return l, nil
}
