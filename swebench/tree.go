package swebench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
)

// The names of the files in an instance's folder.
const (
	RunLogName = "run_instance.log"
	PatchName  = "patch.diff"
	ScriptName = "eval.sh"
	OutputName = "test_output.txt"
	ReportName = "report.json"
)

// ApplyFailed is the line in the run log if the patch does not apply.
const ApplyFailed = ">>>>> Patch Apply Failed"

// LogRoot is the folder of all logs within a run directory or an output folder.
const LogRoot = "logs/run_evaluation"

// ModelDir returns the name of the folder for a model's logs: the model's name with "__" for every
// "/", or "None" for an empty name. It returns a usage fault if the result cannot be a folder name.
func ModelDir(model string) (string, error) {
	if model == "" {
		return "None", nil
	}
	return part("model_name_or_path", strings.ReplaceAll(model, "/", "__"))
}

// part refuses text that cannot be one file name.
func part(what, name string) (string, error) {
	const longest = 200 // file systems allow 255 bytes, and suffixes are added to names
	if name == "" || name == "." || name == ".." || len(name) > longest || strings.ContainsAny(name, "/\x00") {
		return "", fault.Newf(fault.Usage, "%s %q cannot be the name of a folder", what, name)
	}
	return name, nil
}

// LogDir returns the folder of an instance's logs below root. It returns a usage fault if a name
// cannot be a folder name.
func LogDir(root, runID, model, instanceID string) (string, error) {
	run, err := part("run id", runID)
	dir, errModel := ModelDir(model)
	id, errID := part("instance_id", instanceID)
	return filepath.Join(root, LogRoot, run, dir, id), errors.Join(err, errModel, errID)
}

// Files has the contents of the files in an instance's folder. Nil files are not written.
type Files struct {
	RunLog, Patch, Script, Output, Report []byte
}

type namedFile struct {
	name string
	data *[]byte
}

// all returns the files in the order in which they are written: the report comes last.
func (f *Files) all() []namedFile {
	return []namedFile{{PatchName, &f.Patch}, {RunLogName, &f.RunLog}, {ScriptName, &f.Script}, {OutputName, &f.Output}, {ReportName, &f.Report}}
}

// Write writes files into the folder dir, and creates dir if needed. Each file is replaced
// atomically, and the report is written last. The folder is durable on return. An error is a Host
// fault.
func (f Files) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return atomicfile.Fault("creating the folder of logs", err)
	}
	var files atomicfile.Files
	for _, file := range f.all() {
		if *file.data == nil {
			continue
		}
		if err := files.WriteUnsynced(filepath.Join(dir, file.name), 0o644, atomicfile.Bytes(*file.data)); err != nil {
			return atomicfile.Fault("writing "+file.name, err)
		}
	}
	if err := files.SyncDir(dir); err != nil {
		return atomicfile.Fault("writing the folder of logs", err)
	}
	return nil
}

// Replace is Write, but first removes the files that are nil in f: an earlier grade's files must
// not be read together with the new ones.
func (f Files) Replace(dir string) error {
	for _, file := range f.all() {
		if *file.data != nil {
			continue
		}
		if err := os.Remove(filepath.Join(dir, file.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Fault("removing an old "+file.name, err)
		}
	}
	return f.Write(dir)
}

// RemoveFiles removes an instance's files, and the folder if it becomes empty. The patch is removed
// last: after a crash, it still identifies the files that are left.
func RemoveFiles(dir string) error {
	for _, file := range slices.Backward((&Files{}).all()) {
		if err := os.Remove(filepath.Join(dir, file.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(dir)
	return nil
}

// ReadFiles reads the folder of an instance. Files that do not exist are nil.
func ReadFiles(dir string) (Files, error) {
	var f Files
	for _, file := range f.all() {
		data, err := regular.ReadFile(filepath.Join(dir, file.name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Files{}, fault.New(fault.Usage, "reading the folder of logs", err)
		}
		*file.data = data
	}
	return f, nil
}

// WriteFinal writes the final report into dir and returns its path.
func WriteFinal(dir string, f Final) (string, error) {
	name, err := f.Name()
	if err != nil {
		return "", err
	}
	if _, err := part("run id", f.RunID); err != nil {
		return "", err
	}
	text, err := f.JSON()
	if err != nil {
		return "", fault.New(fault.Bug, "writing the final report", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", atomicfile.Fault("writing the final report", err)
	}
	path := filepath.Join(dir, name)
	if err := (atomicfile.Files{}).Write(path, 0o644, atomicfile.Bytes(text)); err != nil {
		return "", atomicfile.Fault("writing the final report", err)
	}
	return path, nil
}
