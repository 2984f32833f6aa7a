package family_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/grade/evalscript"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
)

// The verdicts of the families' rules, by the output of the tests.
func TestVerdicts(t *testing.T) {
	surefire := func(cases string) string { return `<testsuite name="x">` + cases + "</testsuite>" }
	for _, c := range []struct {
		row, log string
		resolved bool
		why      string // part of it
	}{
		{"v5", "FAILED x", true, ""}, // fail_only
		{"v5", "FAILED a - no", false, "FAIL_TO_PASS"},

		{"live", "PASSED a", true, ""}, // a missing PASS_TO_PASS test is fine
		{"live", "PASSED x", false, "1 of 1 FAIL_TO_PASS tests fail: a"},
		{"live", "SKIPPED a", false, "FAIL_TO_PASS"},
		{"live", "", false, "no test result"},

		{"rebench v2", "PASS: a [12 ms]\nPASS: b", true, ""},
		{"rebench v2", "PASS: a (1.2s)\nPASS: b\nPASS: c", true, ""},
		{"rebench v2", "PASS: a", false, "PASS_TO_PASS"},

		{"smith", "tests/t.py::test_a PASSED [ 50%]", true, ""}, // a missing test has passed
		{"smith", "tests/t.py::test_a PASSED\ntests/u.py::test_d FAILED", true, ""},
		{"smith", "tests/t.py::test_a PASSED\ntests/t.py::test_b FAILED", false, "1 of 1 PASS_TO_PASS tests fail: tests/t.py::test_b"},
		{"smith", "tests/t.py::test_c ERROR", false, "1 of 2 FAIL_TO_PASS tests fail: tests/t.py::test_c"},
		{"smith", "killed", false, "no test result"},

		{"r2e", "== short test summary info ==\nPASSED r2e_tests/t.py::T::test_a\nFAILED r2e_tests/t.py::test_b - assert 2", true, ""},
		{"r2e", "== short test summary info ==\nPASSED r2e_tests/t.py::T::test_a\nPASSED r2e_tests/t.py::test_b", false, "test_b"},
		{"r2e", "== short test summary info ==\nPASSED r2e_tests/t.py::T::test_a\nFAILED r2e_tests/t.py::test_b\nPASSED r2e_tests/t.py::test_c", false, "3 tests ran where 2 are expected"},
		{"r2e", "PASSED r2e_tests/t.py::T::test_a", false, "no test result"},

		{"polybench", surefire(`<testcase classname="A" name="a"/><testcase classname="A" name="b"></testcase>`), true, ""},
		{"polybench", surefire(`<testcase classname="A" name="a"/><testcase classname="A" name="b"><failure/></testcase>`), false, "1 of 2 FAIL_TO_PASS tests fail: A.b"},
		{"polybench", surefire(`<testcase classname="A" name="a"/><testcase classname="A" name="b"/>`) + "\nCOMPILATION ERROR", false, "no test result"},

		{"pro", `noise {"tests": [{"name": "a | one", "status": "PASSED"}, {"name": "b", "status": "PASSED"}]}`, true, ""},
		{"pro", `{"tests": [{"name": "a | one", "status": "PASSED"}, {"name": "b", "status": "SKIPPED"}]}`, false, "PASS_TO_PASS"},
		{"pro", `cat: output.json: no such file`, false, "no test result"},

		{"multi-swe", "TestF PASS\nTestP PASS\nTestN PASS", true, ""},
		{"multi-swe", "TestF PASS\nTestP PASS\nTestN SKIP", false, "FAIL_TO_PASS tests fail: TestN"},
		{"multi-swe", "TestF PASS\nTestP FAIL\nTestN PASS", false, "TestP passed before the patch and fails after it"},
		{"multi-swe", "TestF PASS\nTestP PASS\nTestN PASS\nTestO FAIL", false, "TestO passed before the test patch"},
		{"multi-swe", "TestP PASS", false, "no test passes that did not pass before"},
	} {
		t.Run(c.row, func(t *testing.T) {
			j := judge(t, c.row, c.log)
			if j.Resolved != c.resolved || !strings.Contains(j.Why, c.why) || (j.Why == "") != c.resolved {
				t.Errorf("%q: resolved %v, %q; want %v, %q", c.log, j.Resolved, j.Why, c.resolved, c.why)
			}
		})
	}
}

// The neighbors' harnesses were made from SWE-bench 4, and then changed.
func TestNeighborsReadLogsInTheirOwnWay(t *testing.T) {
	rebench := func(parser string, more fields) fields {
		return overlaid(overlaid(rows["rebench"], fields{"install_config": map[string]any{"test_cmd": "x", "log_parser": parser}}), more)
	}
	v2 := fields{"language": "python"}
	for _, c := range []struct {
		what, log string
		row       fields
		resolved  bool
	}{
		{"a name ends at its first blank", "PASSED a more\nPASSED b", rebench("parse_log_pytest_v2", nil), true},
		{"XFAIL is not a status", "PASSED a\nPASSED b\nXFAIL b", rebench("parse_log_pytest", v2), true},
		{"a name of a parser that has two", "PASSED a\nPASSED b", rebench("parse_log_dvc", v2), true},
		{"what stands behind FAILED is cut", "PASSED a\nFAILED [ 50%] b", overlaid(rows["gym"], fields{"repo": "pydantic/pydantic", "version": "2.0"}), false},
		{"everything but a pass or a skip is a failure", "PASSED a\nXFAIL b", rows["live"], false},
	} {
		t.Run(c.what, func(t *testing.T) {
			task, err := family.Find(instance(t, overlaid(c.row, fields{"PASS_TO_PASS": []any{"b"}})), family.Options{})
			if err != nil {
				t.Fatal(err)
			}
			j, err := task.Judge(t.Context(), log(c.log), logparse.V5)
			if err != nil || j.Resolved != c.resolved || j.Statuses["b"] == "" {
				t.Errorf("%s: resolved %v (%s), %v, %v; want %v", task.Parser, j.Resolved, j.Why, j.Statuses, err, c.resolved)
			}
		})
	}
}

func TestWhatStandsBesideTheMarkersIsNoResult(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "instance_me__shop-1", "run_script.sh"), "", 0o644)
	write(t, filepath.Join(dir, "instance_me__shop-1", "parser.py"), "", 0o644)
	task, err := family.Find(instance(t, rows["pro"]), family.Options{RunScripts: dir})
	if err != nil {
		t.Fatal(err)
	}
	l := log("cat: output.json: No such file")
	l.Text = append([]byte(`{"tests": [{"name": "a | one", "status": "PASSED"}, {"name": "b", "status": "PASSED"}]}`+"\n1 passing\n"), l.Text...)
	if j, err := task.Judge(t.Context(), l, logparse.V5); err != nil || j.Resolved {
		t.Errorf("resolved %v by what the tests printed (%v)", j.Resolved, err)
	}
}

func TestTheGoldPatchOfR2EGymIsItsCommit(t *testing.T) {
	const commit = `{"file_diffs": [
 {"header": {"file": {"path": "a.py"}, "misc_line": null}, "index_line": {"old_commit_hash": "12", "new_commit_hash": "34", "mode": "100644"},
  "minus_file": {"path": "a/a.py"}, "plus_file": {"path": "b/a.py"}, "hunks": [
   {"descriptor": {"old_range": {"start": 1, "length": 2}, "new_range": {"start": 1, "length": null}, "section": "def f():"},
    "line_group": {"all_lines": [{"content": "x", "type": "context"}, {"content": "y", "type": "deleted"}, {"content": "No newline at end of file", "type": "note"}]}}]},
 {"header": {"file": {"path": "b.py"}, "misc_line": "new file mode 100644"}, "index_line": {"old_commit_hash": "0", "new_commit_hash": "56", "mode": ""},
  "minus_file": {"path": "/dev/null"}, "plus_file": {"path": "b/b.py"}, "hunks": [
   {"descriptor": {"old_range": {"start": 0, "length": 0}, "new_range": {"start": 1, "length": 1}, "section": ""}, "line_group": {"all_lines": [{"content": "z", "type": "added"}]}}]},
 {"header": {"file": {"path": "README"}}, "hunks": []}]}`
	const want = "diff --git a/a.py b/a.py\nindex 12..34 100644\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1 @@ def f():\n x\n-y\n\\ No newline at end of file\n" +
		"diff --git a/b.py b/b.py\nnew file mode 100644\nindex 0..56\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1,1 @@\n+z\n"
	for column, gold := range map[string]string{commit: want, "{}": "", "no JSON": ""} {
		task, err := family.Find(instance(t, overlaid(rows["r2e"], fields{"patch": "", "parsed_commit_content": column})), family.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if string(task.Gold) != gold {
			t.Errorf("gold patch %q, want %q", task.Gold, gold)
		}
	}
}

func TestEachRepositoryOfSWEGymHasAParser(t *testing.T) {
	for _, repo := range []string{"bokeh/bokeh", "conan-io/conan", "dask/dask", "facebookresearch/hydra", "getmoto/moto", "hypothesisworks/hypothesis", "iterative/dvc", "modin-project/modin", "pandas-dev/pandas", "project-monai/monai", "pydantic/pydantic", "python/mypy"} {
		if _, ok := logparse.ForSWEGymRepo(repo); !ok || !evalscript.Known(repo) {
			t.Errorf("%s has no parser or no commands", repo)
		}
	}
}

func TestExpectedIDsAreNotTrimmed(t *testing.T) {
	task, err := family.Find(instance(t, rows["live"]), family.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := task.Tests.PassToPass, []string{" b "}; !slices.Equal(got, want) {
		t.Errorf("tests %q, want %q", got, want)
	}
}

func TestParsersOfPolyBench(t *testing.T) {
	for _, c := range []struct {
		repo, log string
		want      logparse.Statuses
	}{
		{"serverless/serverless", "x\n{\n \"stats\": {}, \"passes\": [{\"fullTitle\": \"a\"}], \"failures\": [{\"fullTitle\": \"b\"}]}\nnpm ERR! }", logparse.Statuses{"a": "PASSED", "b": "FAILED"}},
		{"mui/material-ui", `{"stats":1,"tests":[{"file":"f.js","fullTitle":"a","status":"passed"},{"file":"f.js","fullTitle":"b","status":"pending"}]}`, logparse.Statuses{"f.js->a": "PASSED"}},
		{"coder/code-server", `{"numFailedTestSuites":0,"testResults":[{"name":"f","assertionResults":[{"fullName":"s a","title":"a","status":"failed"}]}]}`, logparse.Statuses{"f->s a": "FAILED"}},
		{"tailwindlabs/tailwindcss", `{"numFailedTestSuites":0,"testResults":[{"name":"f","assertionResults":[{"fullName":"s a","title":"a","status":"passed"}]}]}`, logparse.Statuses{"f->a": "PASSED"}},
		{"mrdoob/three.js", "TAP version 13\nok 1 a\nnot ok 2 b", logparse.Statuses{"1 a": "PASSED", "2 b": "FAILED"}},
		{"mrdoob/three.js", "ok 1 a", logparse.Statuses{}},
		{"angular/angular", "//p:test \x1b[0m\x1b[32mPASSED\x1b[0m in 1s\n//q:test  FAILED in 2s", logparse.Statuses{"/p:test": "PASSED", "/q:test": "FAILED"}},
		{"keras-team/keras", "== test session starts ==\ncollecting ... \nt/a_test.py::T::test_a PASSED [ 1%]\nt/a_test.py::test_b[x-1] FAILED\n===== warnings summary =====\nt/a_test.py::test_c PASSED", logparse.Statuses{"t/a_test.py:T:test_a": "PASSED", "t/a_test.py:None:test_b[x-1]": "FAILED"}},
		{"keras-team/keras", "===== short test summary info =====\nPASSED t/a_test.py::test_a", logparse.Statuses{"t/a_test.py:None:test_a": "PASSED"}},
		{"yt-dlp/yt-dlp", "test_a (test.T) ... ok\ntest_b (test.T)\nDoc. ... FAIL\nFAIL: test_b (test.T)", logparse.Statuses{"test.T:test_a:": "PASSED"}},
	} {
		row := with(fields{"repo": c.repo, "test_command": "x", "F2P": "['t']", "P2P": "[]"})
		task, err := family.Find(instance(t, row), family.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j, err := task.Judge(t.Context(), log(c.log), logparse.V4)
		if err != nil {
			t.Fatal(err)
		}
		for test, status := range c.want {
			if j.Statuses[test] != status {
				t.Errorf("%s: %v, want %v", c.repo, j.Statuses, c.want)
				break
			}
		}
	}
}
