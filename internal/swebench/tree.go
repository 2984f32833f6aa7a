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
	"batch.example/batch/internal/python"
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

// Report is the content of an instance's report.json.
type Report struct {
	InstanceID string
	NoPatch    bool // the prediction's patch is null
	Found      bool // the log could be graded; otherwise Resolved and Tests are ignored
	Resolved   bool
	Failure    Failure // why the log could not be graded
	Tests      TestsStatus
	V4         bool // with the members of release 4.1.0
}

// Split divides a list of tests by their outcome, in the row's order. Tests with neither outcome
// are left out.
type Split struct {
	Success []string
	Failure []string
}

// MarshalJSON writes {"success": [...], "failure": [...]}, with [] for an empty list.
func (s Split) MarshalJSON() ([]byte, error) {
	return python.Compact(struct {
		Success []string `json:"success"`
		Failure []string `json:"failure"`
	}{orEmpty(s.Success), orEmpty(s.Failure)})
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// TestsStatus is "tests_status" of a report. The last two are always empty, as in the
// official reports.
type TestsStatus struct {
	FailToPass Split `json:"FAIL_TO_PASS"`
	PassToPass Split `json:"PASS_TO_PASS"`
	FailToFail Split `json:"FAIL_TO_FAIL"`
	PassToFail Split `json:"PASS_TO_FAIL"`
}

// Failure says that something other than the prediction may be the reason why a log could not be
// graded. The zero value says that nothing was found. As in the harness, it is advice that is
// derived from the log.
type Failure struct {
	Tier   string // [Environment] or [Ambiguous]
	Reason string // "out_of_memory"
}

// The tiers of a [Failure].
const (
	Environment = "environment" // a patch of the source is hardly the cause
	Ambiguous   = "ambiguous"   // a broken environment or a bad patch
)

// reportFile is the file's entry for an instance. The members have the harness's order.
type reportFile struct {
	PatchIsNone bool         `json:"patch_is_None"`
	PatchExists bool         `json:"patch_exists"`
	Applied     bool         `json:"patch_successfully_applied"`
	Resolved    bool         `json:"resolved"`
	Infra       *bool        `json:"infra_failure,omitempty"`
	Reason      string       `json:"infra_failure_reason,omitempty"`
	Tests       *TestsStatus `json:"tests_status,omitempty"`
}

// JSON returns the text of the file.
func (r Report) JSON() ([]byte, error) {
	f := reportFile{PatchIsNone: r.NoPatch, PatchExists: !r.NoPatch}
	var failure Failure
	switch {
	case r.NoPatch:
	case r.Found:
		f.Applied, f.Resolved, f.Tests = true, r.Resolved, &r.Tests
	default:
		failure = r.Failure
	}
	if !r.V4 {
		infra := failure.Tier == Environment
		f.Infra, f.Reason = &infra, failure.Reason
	}
	return python.Dumps(map[string]any{r.InstanceID: f}, indent)
}

const indent = 4
