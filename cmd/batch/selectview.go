package main

import (
	"os"
	"path/filepath"

	"batch.example/batch/internal/progress"
	"batch.example/batch/run"
	"batch.example/batch/run/selecting"
)

// selectView shows selecting as a run is shown.
type selectView struct{ judging }

func (s *selectSession) newSelectView(d *selecting.Selecting) selectView {
	v := selectView{judging{display{started: s.started, mask: s.mask, cost: d.Cost, run: progress.Event{
		Directory: d.Output, Model: "--by " + d.By, Version: run.Version(), PID: os.Getpid(), Workers: d.Width.N(), Total: len(d.Selections()) + d.Todo(),
	}}}}
	if abs, err := filepath.Abs(d.Output); err == nil {
		v.run.Directory = abs
	}
	v.Display = s.progress(v.run, false, s.flags.quiet || s.flags.json)
	return v
}
