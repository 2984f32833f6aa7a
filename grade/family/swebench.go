package family

import (
	"context"

	"batch.example/batch/fault"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/logparse"
)

// SWE-bench 5 publishes script and parser in the row, like a user's own rows.
func isColumns(r row) bool {
	return r.in.EvalScript != "" && (r.in.LogParser != "" || r.options.Parser != "")
}

func fillColumns(r row, t *Task) error {
	t.Script = r.in.EvalScript
	t.AtBase = !evalscript.Known(r.in.Repo) && !isSmith(r)
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	if r.options.Parser != "" {
		return nil
	}
	t.named(r.in.LogParser)
	return knownParser(r, t, "log_parser")
}

// knownParser reports an unknown parser in a column now, rather than after the tests.
func knownParser(r row, t *Task, column string) error {
	_, _, err := t.parse(context.Background(), "", logparse.V5)
	if fault.KindOf(err) != fault.Usage {
		return nil
	}
	return fault.New(fault.Instance, "grading "+r.in.ID+": column "+column, err).
		WithHint("%s", fault.HintOf(err))
}

// SWE-bench 4 has a table of commands by repository and version.
func isDerived(r row) bool {
	_, parsed := logparse.ForRepo(r.in.Repo)
	return r.in.TestPatch != "" && parsed && evalscript.Known(r.in.Repo)
}

func fillDerived(r row, t *Task) error {
	name, _ := logparse.ForRepo(r.in.Repo)
	t.named(name)
	return derive(r, t)
}

func derive(r row, t *Task) (err error) {
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	t.Workdir = testbed
	if t.Script = r.in.EvalScript; t.Script == "" && r.options.EvalScript == "" && !r.options.LogsOnly {
		t.Script, err = evalscript.Derive(scriptRow(r))
	}
	return err
}

func scriptRow(r row) evalscript.Row {
	return evalscript.Row{InstanceID: r.in.ID, Repo: r.in.Repo, Version: r.in.Version, BaseCommit: r.in.BaseCommit, TestPatch: r.in.TestPatch}
}
