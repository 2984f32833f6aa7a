package family

import (
	"slices"
	"strings"
	"time"

	"batch.example/batch/grade"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/logparse"
)

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
