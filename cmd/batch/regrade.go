package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/grade/regrade"
	"batch.example/batch/internal/printable"
	"batch.example/batch/run"
	"batch.example/batch/run/grading"
)

// regrade runs `batch grade --from-logs`.
func (a *app) regrade(ctx context.Context, f gradeFlags) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	ds, selected, err := a.load(ctx, f.Request)
	if err != nil {
		return err
	}
	options := f.tests.Options
	options.LogsOnly = true
	_, quarantined, err := f.quarantined(ds)
	if err != nil {
		return err
	}
	reports, unknown, err := regrade.Run(ctx, regrade.Config{
		Tree: f.fromLogs, Out: f.Output, Dataset: ds.Instances, Selected: selected,
		RunID: f.tests.RunID, Rules: f.tests.Rules, Judge: judge(options, f.tests.Rules), Quarantined: quarantined,
	})
	if fault.Canceled(err) {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		fmt.Fprintf(a.stderr, "batch: %s of no instance of %s: %s\n",
			printable.Count(len(unknown), "folder has logs", "folders have logs"), run.Title(ds), some(unknown))
	}
	complete := true
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := r.Write(a.stdout); err != nil {
			return err
		}
		complete = complete && r.Complete()
	}
	if !complete {
		return errIncomplete
	}
	return nil
}

// judge grades a log by its row. Nothing can be tested again without the files of the patch
// that decide what tests report, so these are only named.
func judge(o family.Options, r logparse.Rules) regrade.Judge {
	return func(ctx context.Context, in dataset.Instance, patch []byte, l grade.Log) (grade.Judgement, error) {
		task, err := family.Find(in, o)
		if err != nil {
			return grade.Judgement{}, err
		}
		j, err := task.Judge(ctx, l, r)
		if err != nil || !j.Resolved || len(patch) == 0 {
			return j, err
		}
		job := grading.JobOf(task)
		job.Gold = task.Gold
		for _, d := range evaluate.Deciders(job, evaluate.Named(patch)) {
			if d.Tier == evaluate.TierRunner {
				j.Suspicious = append(j.Suspicious, fmt.Sprintf("the patch changes %s, which decides what tests report", d.Path))
			}
		}
		j.Suspicious = append(j.Suspicious, evaluate.Doubts(patch, task.Gold, task.Script, l, j, task.Parse(ctx, r))...)
		return j, nil
	}
}
