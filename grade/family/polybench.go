package family

import (
	"strings"
	"time"

	"batch.example/batch/grade"
	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/lazy"
)

// SWE-PolyBench has the test command and the Dockerfile in the row, and a parser for each
// repository (amazon-science/SWE-PolyBench, src/poly_bench_evaluation).
func isPolyBench(r row) bool { return r.has("test_command", "F2P", "P2P") }

func fillPolyBench(r row, t *Task) (err error) {
	if t.Tests.FailToPass, err = r.list("F2P"); err != nil {
		return err
	}
	if t.Tests.PassToPass, err = r.list("P2P"); err != nil {
		return err
	}
	if r.in.ImageDerived() {
		t.Image = "ghcr.io/timesler/swe-polybench.eval.x86_64." + strings.ToLower(r.in.ID) + ":latest"
	}
	t.Workdir = workdirOf(r.text("Dockerfile"), t.Workdir)
	t.Timeout = 20 * time.Minute
	if strings.EqualFold(r.text("language"), "java") {
		t.Timeout = 30 * time.Minute
	}
	t.Script = polyScript(t.Workdir, r.in.TestPatch, r.text("test_command"))
	t.TestFiles = evalscript.Paths(r.in.TestPatch)
	t.rule = polyBench
	if r.options.Parser != "" {
		return nil
	}
	p, ok := polyParsers[strings.ToLower(r.in.Repo)]
	if !ok {
		return r.fault("no parser is known for the tests of %q", r.in.Repo).WithHint("%s", bringYourOwn)
	}
	t.Parser, t.parse = p.name, plain(p.parse)
	return nil
}

// polyScript prints standard error before standard output, like the reference: mixing them would
// break the reports that test runners print as JSON.
func polyScript(workdir, testPatch, command string) string {
	prepare := []string{
		"cd " + bash.Quote(workdir) + needed,
		"d=$(mktemp -d)",
		bash.Print([]byte(testPatch)) + ` > "$d/test.diff"`,
		`git apply -v --ignore-whitespace --reject "$d/test.diff" || patch --batch --fuzz=5 -p1 -f -i "$d/test.diff"` + needed,
		bash.Print([]byte("#!/bin/bash\nset -uxo pipefail\n"+command+"\n")) + ` > "$d/eval.sh"`,
		`bash "$d/eval.sh" > "$d/stdout" 2> "$d/stderr"`,
	}
	return script(prepare, []string{`cat "$d/stderr" "$d/stdout"`, `rm -r "$d"`})
}

var workdirLine = lazy.Regexp(`(?mi)^[ \t]*WORKDIR[ \t]+"?(/[^\s"]*)"?[ \t]*\r?$`)

// workdirOf returns the last absolute WORKDIR of a Dockerfile, which is also the image's.
func workdirOf(dockerfile, otherwise string) string {
	if all := workdirLine().FindAllStringSubmatch(dockerfile, -1); len(all) > 0 {
		return all[len(all)-1][1]
	}
	return otherwise
}

// passedAndFailed is the status of a test that the log has as both: the reference has it in both of
// its lists.
const passedAndFailed = logparse.Passed + " and " + logparse.Failed

// polyBench requires every FAIL_TO_PASS test to have passed, and no PASS_TO_PASS test to have
// failed: a missing one is fine.
func polyBench(s logparse.Statuses, t grade.Tests) outcome {
	return all(t,
		func(test string) bool { return s[test] == logparse.Passed || s[test] == passedAndFailed },
		func(test string) bool { return s[test] != logparse.Failed && s[test] != passedAndFailed })
}
