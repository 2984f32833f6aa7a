package main

import (
	"os"
	"path/filepath"

	"batch.example/batch/internal/progress"
	"batch.example/batch/run"
	"batch.example/batch/run/grading"
)

// gradeView shows grading as a run is shown.
type gradeView struct {
	judging
	directory *grading.Directory
}

func (s *gradeSession) newView(d *grading.Directory) gradeView {
	predictions, _ := d.Grades()
	v := gradeView{directory: d, judging: judging{display{started: s.started, mask: s.mask, json: s.flags.json, run: progress.Event{
		Directory: d.Output, Model: predictions[0].Model, Dataset: s.ds.Name, Version: run.Version(),
		PID: os.Getpid(), Workers: s.flags.Workers, Total: len(predictions), Grading: true,
	}}}}
	if v.run.Model == "" {
		v.run.Model = "None"
	}
	if abs, err := filepath.Abs(d.Output); err == nil {
		v.run.Directory = abs
	}
	v.Display = s.progress(v.run, s.flags.json, s.flags.quiet)
	return v
}
