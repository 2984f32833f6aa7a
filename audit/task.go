package audit

import (
	"slices"
	"strings"

	"batch.example/batch/audit/diff"
	"batch.example/batch/audit/shell"
	"batch.example/batch/dataset"
	"batch.example/batch/internal/lazy"
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
	commands []shell.Command
	writes   []write
	codes    []code
}

func newTask(v *trajectory.View, row *dataset.Instance, m *mask.Masker) *task {
	t := &task{view: v, row: row, mask: m}
	if v.Patch != nil {
		t.patch = diff.Read(m.Text(string(v.Patch.Text)))
	}
	scripts := map[string]string{}
	for i := range v.Steps {
		for n := range v.Steps[i].Actions {
			a := action{step: v.Steps[i].Number, n: n + 1, Action: &v.Steps[i].Actions[n]}
			a.read(scripts)
			t.actions = append(t.actions, a)
		}
	}
	return t
}

// read finds the commands, the files that they write, and the code that they run. Scripts are
// the files so far, by path.
func (a *action) read(scripts map[string]string) {
	if a.Tool != "" {
		a.writes = editorWrites(a.Command)
		return
	}
	a.commands = shell.Split(a.Command)
	for _, c := range a.commands {
		written := writesOf(c)
		a.writes = append(a.writes, written...)
		for _, w := range written {
			if c.Stdin != "" {
				scripts[w.path] = c.Stdin
			}
		}
		if code, ok := codeOf(c, scripts); ok && !slices.ContainsFunc(a.codes, code.same) {
			a.codes = append(a.codes, code)
			a.writes = append(a.writes, code.writes()...)
		}
	}
}

// numberOf matches the number at the end of an instance's id.
var numberOf = lazy.Regexp(`-(\d+)$`)

// number is the number of the task's pull request; empty if the id has none.
func (t *task) number() string {
	if m := numberOf().FindStringSubmatch(t.view.Instance); m != nil {
		return m[1]
	}
	return ""
}

// repo is the task's repository, such as django/django; empty if it is not known.
func (t *task) repo() string {
	if t.row != nil && t.row.Repo != "" {
		return strings.ToLower(t.row.Repo)
	}
	id := strings.ToLower(strings.TrimSuffix(t.view.Instance, numberOf().FindString(t.view.Instance)))
	owner, name, found := strings.Cut(id, "__")
	if !found {
		return ""
	}
	return owner + "/" + name
}
