package family

import (
	"context"
	"slices"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/grade"
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

// SWE-Gym has the form of SWE-bench 4, with a table of its own repositories
// (SWE-Gym/SWE-Bench-Fork, swebench/harness). Its rule is SWE-bench's. A row of a repository that
// both have counts as SWE-bench's, since nothing in it distinguishes them. SWE-Gym's published rows
// have no such repository, though its harness would read sympy's logs differently.
func isGym(r row) bool {
	_, parsed := logparse.ForRepo(r.in.Repo)
	return r.in.TestPatch != "" && !parsed && evalscript.Known(r.in.Repo)
}

func fillGym(r row, t *Task) error {
	name, _ := logparse.ForSWEGymRepo(r.in.Repo) // a test compares the two tables
	t.named(name)
	t.parse = asInV4(t.parse)
	if r.in.ImageDerived() {
		t.Image = "docker.io/xingyaoww/sweb.eval.x86_64." + strings.ToLower(strings.ReplaceAll(r.in.ID, "__", "_s_")) + ":latest"
	}
	return derive(r, t)
}

// SWE-bench-Live has the commands in the row (microsoft/SWE-bench-Live, evaluation). In its Python
// datasets, log_parser is "pytest"; in MultiLang and Windows it is the source of a Python function,
// which is not run: those rows need a parser from the user.
func isLive(r row) bool { return r.has("test_cmds") }

func fillLive(r row, t *Task) error {
	rebuild, err := r.list("rebuild_cmds")
	if err != nil {
		return err
	}
	test, err := r.list("test_cmds")
	if err != nil {
		return err
	}
	print, err := r.list("print_cmds")
	if err != nil {
		return err
	}
	prepare := []string{"cd " + testbed + needed, applyCommand("-v --reject --whitespace=nowarn", r.in.TestPatch)}
	if len(rebuild) > 0 {
		prepare = append(prepare, strings.Join(rebuild, " ; "))
	}
	tests := []string{strings.Join(test, " ; ")}
	t.Command = tests[0]
	if len(print) > 0 { // their output is read, not the tests'
		prepare = append(prepare, tests...)
		tests = []string{strings.Join(print, " ; ")}
	}
	t.Script = script(prepare, tests)
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	t.Workdir = testbed
	t.Timeout = 150 * time.Minute // for each command there
	t.rule = live
	if r.in.ImageDerived() {
		t.Image = "docker.io/starryzhang/sweb.eval.x86_64." + strings.ToLower(strings.ReplaceAll(r.in.ID, "__", "_1776_")) + ":latest"
	}
	return liveParser(r, t)
}

func liveParser(r row, t *Task) error {
	if r.options.Parser != "" {
		return nil
	}
	name := r.in.LogParser
	if name == "" {
		name = r.text("parser")
	}
	if strings.EqualFold(strings.TrimSpace(name), "pytest") {
		t.named("pytest")
		return nil
	}
	if slices.Contains(logparse.Names(), name) {
		t.named(name)
		return nil
	}
	return r.fault("column log_parser holds the source of a parser in Python, which batch does not run").
		WithHint("give `--parser EXECUTABLE`: it reads the log on standard input, has this source as its second argument,\n" +
			"and prints {\"test name\": \"pass\", ...} as JSON, with pass, fail or skip")
}

// live requires every FAIL_TO_PASS test to have passed, and no PASS_TO_PASS test to have failed: a
// missing one is fine. Every status except PASSED and SKIPPED is a failure.
func live(s logparse.Statuses, t grade.Tests) outcome {
	return all(t,
		func(test string) bool { return s[test] == logparse.Passed },
		func(test string) bool {
			status, ok := s[test]
			return !ok || status == logparse.Passed || status == logparse.Skipped
		})
}
