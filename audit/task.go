package audit

import (
	"batch.example/batch/dataset"
	"batch.example/batch/internal/diff"
	"batch.example/batch/internal/mask"
	"batch.example/batch/results/trajectory"
)

// task is an attempt in the form that detectors read.
type task struct {
	view    *trajectory.View
	row     *dataset.Instance // nil: not known
	mask    *mask.Masker
	actions []action
	patch   []diff.File // with secrets hidden
}

// action is a command of the agent, in the order of the attempt.
type action struct {
	step, n int
	*trajectory.Action
	commands []command
	codes    []code
	writes   []write
}

func newTask(v *trajectory.View, row *dataset.Instance, m *mask.Masker) *task {
	t := &task{view: v, row: row, mask: m}
	if v.Patch != nil {
		t.patch = diff.Read(m.Text(string(v.Patch.Text)))
	}
	files := map[string]string{} // what the attempt wrote so far, by path
	for i := range v.Steps {
		for n := range v.Steps[i].Actions {
			a := action{step: v.Steps[i].Number, n: n + 1, Action: &v.Steps[i].Actions[n]}
			r := newReader(files)
			if a.Tool == "" {
				r.script(a.Command, "")
			} else {
				r.edit(a.Command)
			}
			a.commands, a.codes, a.writes = r.commands, r.codes, r.writes
			t.actions = append(t.actions, a)
		}
	}
	return t
}
