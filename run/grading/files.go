package grading

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/regular"
	"batch.example/batch/internal/swebench"
)

// writeFiles writes the files of the execution that counts into the instance's folder of the
// log tree. With Repeat, keepRepeat has written the files of each execution.
func (w *worker) writeFiles(j Job, done []*execution) error {
	dir, err := w.folder(j)
	if err != nil {
		return err
	}
	counts := countsOf(done)
	for _, x := range done {
		if x.evidence == nil || x.grade.Verdict != counts.Verdict {
			continue
		}
		log := x.grade.Log
		if err := x.writeFiles(dir); err != nil {
			return err
		}
		x.grade.Log = cmp.Or(log, x.grade.Log)
		break
	}
	return nil
}

// keepRepeat writes the files of x, the last of several executions, into a folder of their
// own. It forgets a log that the instance's folder will not have, because an earlier execution
// has the same verdict: many logs may not fit into memory.
func (x *execution) keepRepeat(done []*execution) error {
	if x.evidence == nil || !x.Stands(x.job.Prediction) {
		return nil
	}
	dir, err := x.folder(x.job)
	if err == nil {
		err = x.writeFiles(repeatDir(dir, x.grade.Repeat))
	}
	same := func(y *execution) bool { return y != x && y.evidence != nil && y.grade.Verdict == x.grade.Verdict }
	if slices.ContainsFunc(done, same) {
		x.evidence, x.judgement = nil, nil
	}
	return err
}

// folder returns the folder of an instance, after removing files of other patches.
func (w *worker) folder(j Job) (string, error) {
	dir, err := swebench.LogDir(w.Dir, w.RunIDOf(w.Dir), j.Prediction.Model, j.Instance.ID)
	if err != nil {
		return "", fault.New(fault.Instance, "", err)
	}
	if err := removeOther(dir, j.Prediction.Patch); err != nil {
		return "", atomicfile.Fault("removing the files of another patch from "+dir, err)
	}
	return dir, nil
}

// removeOther removes the files of other patches from an instance's folder, such as an
// earlier attempt's: their verdict must not be read as this patch's.
func removeOther(dir string, patch []byte) error {
	folders := []string{dir}
	for n := 1; ; n++ {
		folder := repeatDir(dir, n)
		if _, err := os.Stat(folder); err != nil {
			break
		}
		folders = append(folders, folder)
	}
	for _, folder := range slices.Backward(folders) {
		old, err := regular.ReadFile(filepath.Join(folder, swebench.PatchName))
		if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(old, patch) {
			continue
		}
		if err != nil {
			return err
		}
		if err := swebench.RemoveFiles(folder); err != nil {
			return err
		}
	}
	return nil
}

func repeatDir(dir string, n int) string { return filepath.Join(dir, fmt.Sprintf("repeat-%d", n)) }

func (x *execution) writeFiles(dir string) error {
	files, err := x.files()
	if err != nil {
		return err
	}
	if err := files.Replace(dir); err != nil {
		return err
	}
	rel, err := filepath.Rel(x.Dir, dir)
	x.grade.Log = filepath.ToSlash(rel)
	return err
}

// files returns the files for the execution's folder. As in the harness, a folder without a
// graded log has no report.
func (x *execution) files() (f swebench.Files, err error) {
	e := x.evidence
	f = swebench.Files{RunLog: e.RunLog, Patch: x.job.Prediction.Patch}
	if f.RunLog == nil {
		f.RunLog = []byte{}
	}
	if !e.Applied {
		return f, nil
	}
	f.Script, f.Output = []byte(e.Script), e.Log.Text
	if f.Output == nil {
		f.Output = []byte{}
	}
	if x.judgement == nil || e.TimedOut {
		return f, nil
	}
	report := *x.judgement
	report.Resolved = report.Resolved && x.grade.Verdict.Counts() && *x.grade.Resolved()
	f.Report, err = report.Report(x.job.Instance.ID, x.Rules).JSON()
	if err != nil {
		return f, fault.New(fault.Bug, "writing the report of "+x.job.Instance.ID, err)
	}
	return f, nil
}
