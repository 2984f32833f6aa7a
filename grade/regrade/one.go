package regrade

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/swebench"
	"batch.example/batch/vocab"
)

// task is one log to grade.
type task struct {
	in     dataset.Instance
	folder swebench.Folder
	counts bool
}

// outcome is the result of one task. present is false if the folder has no traces of an evaluation.
type outcome struct {
	Graded
	present  bool
	reported bool // it has a report.json
}

// one grades a folder and writes its report, or removes an earlier report.
func (c Config) one(ctx context.Context, t task) (outcome, error) {
	o, err := c.grade(ctx, t)
	if err != nil || o.reported {
		return o, err
	}
	dir, err := swebench.LogDir(c.Out, t.folder.Run, t.folder.Model, t.in.ID)
	if err != nil {
		return o, err
	}
	if err := os.Remove(filepath.Join(dir, swebench.ReportName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return o, fault.New(fault.Host, "removing a report that does not hold any more", err)
	}
	return o, nil
}

func (c Config) grade(ctx context.Context, t task) (outcome, error) {
	files, err := swebench.ReadFiles(t.folder.Path)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{Graded: Graded{InstanceID: t.in.ID}, present: true}
	switch {
	case files.Patch != nil && len(files.Patch) == 0 && files.Output == nil:
		o.Verdict, o.Why = vocab.VerdictEmpty, "the patch is empty"
	case files.Output != nil:
		err = c.judge(ctx, t, files, &o)
	case files.RunLog != nil:
		o.Verdict, o.Why = stopped(files.RunLog)
	default:
		o.present = false
		return o, nil
	}
	var failure swebench.Failure
	if o.Verdict != vocab.VerdictResolved {
		failure = grade.Classify(logs(files))
	}
	o.entry = swebench.EntryOf(t.in.ID, o.Verdict, failure, o.Doubt)
	return o, err
}

// judge grades test_output.txt and writes report.json.
func (c Config) judge(ctx context.Context, t task, files swebench.Files, o *outcome) error {
	j, err := c.Judge(ctx, t.in, files.Patch, grade.LogOf(files))
	if err := ctx.Err(); err != nil {
		return err
	}
	if err != nil {
		var f *fault.Error
		if errors.As(err, &f) && f.Kind == fault.Usage { // such as a parser that does not exist
			return err
		}
		o.Verdict, o.Why = vocab.VerdictUngradeable, err.Error()
		if hint := fault.HintOf(err); hint != "" {
			o.Why += " (" + strings.Join(strings.Fields(hint), " ") + ")"
		}
		return nil
	}
	o.Verdict, o.Why, o.Doubt, o.Suspicious = j.Verdict, j.Why, j.Doubt, j.Suspicious
	o.reported = true
	report, err := j.Report(t.in.ID, c.Rules).JSON()
	if err != nil {
		return fault.New(fault.Bug, "writing report.json", err)
	}
	dir, err := swebench.LogDir(c.Out, t.folder.Run, t.folder.Model, t.in.ID)
	if err != nil {
		return err
	}
	return swebench.Files{Report: report}.Write(dir)
}

// stopped returns the verdict of an evaluation that ended before the tests.
func stopped(runLog []byte) (vocab.Verdict, string) {
	if bytes.Contains(runLog, []byte(swebench.ApplyFailed)) {
		return vocab.VerdictNoApply, "the patch does not apply"
	}
	return vocab.VerdictInfrastructure, "the evaluation ended before the tests, see " + swebench.RunLogName
}

// logs joins the logs in which the harness looks for the reason of a failure.
func logs(f swebench.Files) string {
	var list []string
	for _, log := range [][]byte{f.Output, f.RunLog} {
		if log != nil {
			list = append(list, grade.Decode(log))
		}
	}
	return strings.Join(list, "\n")
}
