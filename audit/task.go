package audit

import (
	"batch.example/batch/dataset"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/trajectory"
)

// task is an attempt in the form that detectors read.
type task struct {
	view *trajectory.View
	row  *dataset.Instance // nil: not known
	mask *mask.Masker
}

func newTask(v *trajectory.View, row *dataset.Instance, m *mask.Masker) *task {
	return &task{view: v, row: row, mask: m}
}

// hits collects the findings of one detector.
type hits struct {
	task     *task
	detector string
	list     []Finding
}
