package family_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/family"
	"batch.example/batch/grade/logparse"
)

const testPatch = `diff --git a/tests/test_a.py b/tests/test_a.py
new file mode 100644
--- /dev/null
+++ b/tests/test_a.py
@@ -0,0 +1 @@
+def test_a(): pass
`

const goldPatch = `diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1 +1 @@
-x
+y
`

// fields are a row's columns.
type fields map[string]any

// with returns the columns that most datasets have, and more.
func with(more fields) fields {
	f := fields{
		"instance_id": "me__shop-1", "repo": "me/shop", "version": "1.0", "base_commit": "abc",
		"patch": goldPatch, "test_patch": testPatch, "problem_statement": "x",
		"FAIL_TO_PASS": []any{"a"}, "PASS_TO_PASS": []any{" b "},
	}
	for k, v := range more {
		if v == nil {
			delete(f, k)
			continue
		}
		f[k] = v
	}
	return f
}

// instance reads a row as its dataset's file would be read.
func instance(t *testing.T, f fields) dataset.Instance {
	t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var in dataset.Instance
	if err := json.Unmarshal(data, &in); err != nil {
		t.Fatal(err)
	}
	return in
}

var rows = map[string]fields{
	"v5":    with(fields{"eval_script": "echo hi", "log_parser": "parse_log_pytest", "eval_type": "fail_only"}),
	"v4":    with(fields{"instance_id": "psf__requests-1", "repo": "psf/requests", "version": "2.0"}),
	"gym":   with(fields{"instance_id": "getmoto__moto-5752", "repo": "getmoto/moto", "version": "4.0"}),
	"monai": with(fields{"instance_id": "Project-MONAI__MONAI-1", "repo": "Project-MONAI/MONAI", "version": "0.1"}),
	"rebench": with(fields{"docker_image": "swerebench/x", "install_config": map[string]any{
		"test_cmd": "pytest -rA", "install": "pip install -e .", "log_parser": "parse_log_pytest", "python": "3.9",
	}}),
	"rebench as text": with(fields{"install_config": `{"test_cmd": "pytest -rA", "log_parser": "parse_log_pytest_v2"}`}),
	"rebench v2": with(fields{"image_name": "docker.io/swerebenchv2/x:1", "language": "c", "install_config": map[string]any{
		"test_cmd": []any{"make", "make check"}, "log_parser": "parse_log_jq",
	}}),
	"live":      with(fields{"test_cmds": []any{"pytest -rA", "pytest -rA slow"}, "log_parser": "pytest"}),
	"multilang": with(fields{"test_cmds": []any{"cargo test > log"}, "rebuild_cmds": []any{"cargo build"}, "print_cmds": []any{"cat log"}, "log_parser": "def parser(log):\n  return {}", "docker_image": "x/y"}),
	"r2e": with(fields{
		"FAIL_TO_PASS": nil, "PASS_TO_PASS": nil, "repo_name": "aiohttp", "docker_image": "namanjain12/aiohttp_final:abc", "commit_hash": "abc",
		"expected_output_json": `{"T.test_a": "PASSED", "test_b - assert 1": "FAILED"}`,
	}),
	"polybench": with(fields{
		"instance_id": "google__gson-1", "repo": "google/gson", "language": "Java", "test_command": "mvn test",
		"F2P": "['A.a', \"A.b\"]", "P2P": "[]", "Dockerfile": "FROM x\nWORKDIR /src\nworkdir /testbed/gson\n",
	}),
	"pro": with(fields{
		"instance_id": "instance_me__shop-1", "FAIL_TO_PASS": nil, "PASS_TO_PASS": nil,
		"fail_to_pass": "['a | one']", "pass_to_pass": `["b"]`, "dockerhub_tag": "me.shop-1",
		"selected_test_files_to_run": `["test/a.js", "test/b.js"]`, "before_repo_set_cmd": "git reset --hard abc\ngit checkout def -- test/a.js test/b.js\n",
	}),
	"multi-swe": with(fields{
		"instance_id": "cli__cli-9", "org": "cli", "repo": "cli", "number": 9, "fix_patch": goldPatch, "patch": nil, "base_commit": nil,
		"base": map[string]any{"label": "cli:trunk", "sha": "abc"}, "FAIL_TO_PASS": nil, "PASS_TO_PASS": nil,
		"f2p_tests": map[string]any{"TestF": map[string]any{"run": "NONE", "test": "FAIL", "fix": "PASS"}},
		"p2p_tests": map[string]any{"TestP": map[string]any{}}, "n2p_tests": map[string]any{"TestN": map[string]any{}}, "s2p_tests": map[string]any{},
		"run_result":        map[string]any{"passed_tests": []any{"TestP", "TestO"}, "failed_tests": []any{}, "skipped_tests": []any{}},
		"test_patch_result": map[string]any{"passed_tests": []any{"TestP"}, "failed_tests": []any{"TestF"}, "skipped_tests": []any{}},
	}),
	"smith": with(fields{
		"instance_id": "oauthlib__oauthlib.1fd52536.lm_rewrite__1", "repo": "swesmith/oauthlib__oauthlib.1fd52536", "test_patch": nil, "version": nil,
		"image_name": "swebench/swesmith.x86_64.oauthlib_1776_oauthlib.1fd52536", "FAIL_TO_PASS": []any{"tests/t.py::test_a", "tests/t.py::test_c"}, "PASS_TO_PASS": []any{"tests/t.py::test_b", "tests/u.py::test_d"},
	}),
}

func TestFamilies(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "instance_me__shop-1", "run_script.sh"), "echo run \"$@\"\n", 0o644)
	write(t, filepath.Join(dir, "instance_me__shop-1", "parser.py"), "print('x')\n", 0o644)
	mine := filepath.Join(dir, "parser")
	write(t, mine, "#!/bin/sh\necho '{}'\n", 0o755)

	for _, c := range []struct {
		row     string
		options family.Options
		want    family.Task
		script  []string // lines of it
	}{
		{"v5", family.Options{Workdir: "/shop"}, family.Task{Family: "SWE-bench", Workdir: "/shop", Parser: "parse_log_pytest", EvalType: "fail_only"}, []string{"echo hi"}},
		{"v5", family.Options{Parser: mine}, family.Task{Family: "SWE-bench", Workdir: "/testbed", Parser: "parser", EvalType: "fail_only"}, []string{"echo hi"}},
		{"v4", family.Options{}, family.Task{Family: "SWE-bench", Workdir: "/testbed", Parser: "parse_log_pytest_options"}, []string{"pytest -rA tests/test_a.py"}},
		{"gym", family.Options{}, family.Task{Family: "SWE-Gym", Workdir: "/testbed", Parser: "parse_log_pytest", Image: "docker.io/xingyaoww/sweb.eval.x86_64.getmoto_s_moto-5752:latest"}, []string{"make init", "pytest -n0 -rA tests/test_a.py"}},
		{"monai", family.Options{}, family.Task{Family: "SWE-Gym", Workdir: "/testbed", Parser: "parse_log_pytest", Image: "docker.io/xingyaoww/sweb.eval.x86_64.project-monai_s_monai-1:latest"}, []string{"pytest -rA  tests/test_a.py"}},
		{"rebench", family.Options{}, family.Task{Family: "SWE-rebench", Workdir: "/testbed", Parser: "parse_log_pytest"}, []string{"pip install -e .", "pytest -rA tests/test_a.py"}},
		{"rebench as text", family.Options{}, family.Task{Family: "SWE-rebench", Workdir: "/testbed", Parser: "parse_log_pytest_v2"}, []string{"pytest -rA tests/test_a.py"}},
		{"rebench v2", family.Options{}, family.Task{Family: "SWE-rebench V2", Workdir: "/shop", Parser: "parse_log_jq"}, []string{"cd '/shop' || exit 1", "set -e", "make", "make check"}},
		{"live", family.Options{}, family.Task{Family: "SWE-bench-Live", Workdir: "/testbed", Parser: "pytest", Timeout: 150 * time.Minute, Image: "docker.io/starryzhang/sweb.eval.x86_64.me_1776_shop-1:latest"}, []string{"pytest -rA ; pytest -rA slow"}},
		{"multilang", family.Options{Parser: mine}, family.Task{Family: "SWE-bench-Live", Workdir: "/testbed", Parser: "parser", Timeout: 150 * time.Minute}, []string{"cargo build", "cargo test > log", "cat log"}},
		{"r2e", family.Options{}, family.Task{Family: "R2E-Gym", Workdir: "/testbed", Parser: "r2e_gym", Timeout: 5 * time.Minute}, []string{"bash /root/run_tests.sh"}},
		{"polybench", family.Options{}, family.Task{Family: "SWE-PolyBench", Workdir: "/testbed/gson", Parser: "JavaGenericParser", Timeout: 30 * time.Minute, Image: "ghcr.io/timesler/swe-polybench.eval.x86_64.google__gson-1:latest"}, []string{"cd '/testbed/gson' || exit 1"}},
		{"pro", family.Options{RunScripts: dir}, family.Task{Family: "SWE-bench Pro", Workdir: "/app", Parser: "parser.py", Timeout: time.Hour}, []string{
			"git checkout def -- test/a.js test/b.js",
			"bash /workspace/run_script.sh test/a.js,test/b.js > /workspace/stdout.log 2> /workspace/stderr.log",
		}},
		{"multi-swe", family.Options{Parser: mine}, family.Task{Family: "Multi-SWE-bench", Workdir: "/home/cli", Parser: "parser", Image: "docker.io/mswebench/cli_m_cli:pr-9"}, []string{"bash /home/fix-run.sh"}},
		{"smith", family.Options{}, family.Task{Family: "SWE-smith", Workdir: "/testbed", Parser: "swesmith pytest", Timeout: 2 * time.Minute}, []string{"pytest --disable-warnings --color=no --tb=no --verbose tests/t.py"}},
	} {
		t.Run(c.row, func(t *testing.T) {
			got, err := family.Find(instance(t, rows[c.row]), c.options)
			if err != nil {
				t.Fatalf("%v (%s)", err, fault.HintOf(err))
			}
			w := c.want
			if got.Family != w.Family || got.Workdir != w.Workdir || got.Parser != w.Parser || got.Timeout != w.Timeout || got.Image != w.Image || got.EvalType != w.EvalType {
				t.Errorf("task\n%s, %s, %s, %s, %s, %s; want\n%s, %s, %s, %s, %s, %s", got.Family, got.Workdir, got.Parser, got.Timeout, got.Image, got.EvalType,
					w.Family, w.Workdir, w.Parser, w.Timeout, w.Image, w.EvalType)
			}
			lines := strings.Split(got.Script, "\n")
			for _, line := range c.script {
				if !slices.Contains(lines, line) {
					t.Errorf("the script has no line %q:\n%s", line, got.Script)
				}
			}
			if n := strings.Count(got.Script, grade.StartMarker("")); c.row != "v5" && n != 1 {
				t.Errorf("the script has %d start markers", n)
			}
		})
	}
}

func TestWhatARowLacks(t *testing.T) {
	for _, c := range []struct {
		row     fields
		options family.Options
		text    string
		hint    string
	}{
		{with(nil), family.Options{}, "me__shop-1: its columns are of no dataset family", "--parser EXECUTABLE"},
		{with(fields{"eval_script": "x", "log_parser": "parse_log_pytest", "FAIL_TO_PASS": []any{}, "PASS_TO_PASS": []any{}}), family.Options{}, "name no test", "`batch dataset fill ROWS`"},
		{with(fields{"eval_script": "x", "log_parser": "parse_log_pytest", "patch": "", "FAIL_TO_PASS": nil, "PASS_TO_PASS": nil}), family.Options{}, "name no test", "give it a gold patch and a test_patch"},
		{with(fields{"repo": "chartjs/Chart.js", "patch": "", "test_patch": "", "FAIL_TO_PASS": "[]", "PASS_TO_PASS": "[]"}), family.Options{}, "name no test", "keeps its tests secret"},
		{with(fields{"eval_script": "x", "log_parser": "parse_log_pytes"}), family.Options{}, "column log_parser", "did you mean parse_log_pytest"},
		{with(fields{"install_config": map[string]any{"test_cmd": "x", "log_parser": "parse_log_haskel"}}), family.Options{}, "column install_config.log_parser", "--parser EXECUTABLE"},
		{with(fields{"language": "haskell", "install_config": map[string]any{"test_cmd": "x", "log_parser": "parse_log_haskell"}}), family.Options{}, "column install_config.log_parser", "--parser EXECUTABLE"},
		{rows["multilang"], family.Options{}, "source of a parser in Python", "--parser EXECUTABLE"},
		{rows["multi-swe"], family.Options{}, "how the output of cli/cli is read", "--parser EXECUTABLE"},
		{rows["pro"], family.Options{}, "SWE-bench Pro", "--run-scripts"},
		{rows["pro"], family.Options{RunScripts: "nowhere"}, "run_script.sh", "instance_me__shop-1"},
		{with(fields{"install_config": map[string]any{"log_parser": "parse_log_pytest"}}), family.Options{}, "no test_cmd", "eval_script"},
		{with(fields{"install_config": map[string]any{"test_cmd": "x"}}), family.Options{}, "no log_parser", "log_parser"},
		{with(fields{"test_patch": nil, "image_name": "swebench/swesmith.x86_64.me_1776_go.12345678"}), family.Options{}, "me/go at 12345678", "eval_script"},
		{with(fields{"instance_id": "psf__requests-1", "repo": "psf/requests", "version": "99"}), family.Options{}, `version "99"`, "eval_script"},
		{with(fields{"test_command": "x", "F2P": "[", "P2P": "[]"}), family.Options{}, "column F2P", ""},
		{with(fields{"test_command": "x", "F2P": "[]", "P2P": "[]"}), family.Options{}, `no parser is known for the tests of "me/shop"`, "--parser"},
		{with(fields{"expected_output_json": "{}"}), family.Options{}, "column expected_output_json: it has no test", ""},
	} {
		_, err := family.Find(instance(t, c.row), c.options)
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), c.text) || !strings.Contains(fault.HintOf(err), c.hint) {
			t.Errorf("error %v (%v), hint %q; want an Instance fault with %q and %q", err, fault.KindOf(err), fault.HintOf(err), c.text, c.hint)
		}
	}
}

func TestYourOwnScriptAndParser(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "scripts", "me__shop-1", "eval.sh"), "echo mine\n", 0o644)
	parser := filepath.Join(dir, "parse")
	write(t, parser, "#!/bin/sh\nawk 'NF == 2 { printf \"{\\\"%s\\\": \\\"%s\\\"}\", $1, $2 }'\n[ \"$1\" = me__shop-1 ]\n", 0o755)
	o := family.Options{EvalScript: filepath.Join(dir, "scripts"), Parser: parser}
	task, err := family.Find(instance(t, with(fields{"PASS_TO_PASS": []any{}})), o)
	if err != nil {
		t.Fatal(err)
	}
	if task.Script != "echo mine\n" || task.Family != "own" {
		t.Errorf("%s: script %q", task.Family, task.Script)
	}
	for _, c := range []struct {
		log      string
		resolved bool
	}{{"a PASSED", true}, {"a FAILED", false}, {"b PASSED", false}} {
		j, err := task.Judge(t.Context(), log(c.log), logparse.V5)
		if err != nil {
			t.Fatal(err)
		}
		if j.Resolved != c.resolved {
			t.Errorf("%s: resolved %v (%s)", c.log, j.Resolved, j.Why)
		}
	}
	for _, c := range []struct{ log, want string }{{"a GREEN", `test "a" has the status "GREEN"`}, {"a", "unexpected end of JSON input"}} {
		if _, err := task.Judge(t.Context(), log(c.log), logparse.V5); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.log, err, c.want)
		}
	}
	o.Parser = filepath.Join(dir, "nothing")
	task, err = family.Find(instance(t, with(nil)), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.Judge(t.Context(), log("x"), logparse.V5); fault.KindOf(err) != fault.Usage {
		t.Errorf("error %v, want a Usage fault", err)
	}
}

// log is a log with the harness's markers around text.
func log(text string) grade.Log {
	zero := 0
	return grade.Log{Text: []byte(grade.StartMarker("") + "\n" + text + "\n" + grade.EndMarker("") + "\n"), ExitCode: &zero}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// judge grades the output of a row's tests.
func judge(t *testing.T, row, text string) grade.Judgement {
	t.Helper()
	dir := t.TempDir()
	o := family.Options{RunScripts: dir}
	if row == "multi-swe" {
		o.Parser = filepath.Join(dir, "parser")
		write(t, o.Parser, "#!/bin/sh\nawk 'BEGIN { printf \"{\" } NF == 2 { printf \"%s\\\"%s\\\": \\\"%s\\\"\", (n++ ? \", \" : \"\"), $1, $2 } END { print \"}\" }'\n", 0o755)
	}
	write(t, filepath.Join(dir, "instance_me__shop-1", "run_script.sh"), "", 0o644)
	write(t, filepath.Join(dir, "instance_me__shop-1", "parser.py"), "", 0o644)
	f := rows[row]
	if row == "rebench v2" {
		f = with(f)
		f["PASS_TO_PASS"] = []any{"b (2 ms)"}
	}
	task, err := family.Find(instance(t, f), o)
	if err != nil {
		t.Fatal(err)
	}
	j, err := task.Judge(t.Context(), log(text), logparse.V5)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// overlaid returns a row with some of its columns replaced.
func overlaid(row, columns fields) fields {
	row = maps.Clone(row)
	maps.Copy(row, columns)
	return row
}

func TestSavedLogsNeedNoScript(t *testing.T) {
	for name, tt := range map[string]struct {
		in   dataset.Instance
		want string // the parser; "": none
	}{
		"by column":                        {dataset.Instance{LogParser: "parse_log_gotest"}, "parse_log_gotest"},
		"by repository":                    {dataset.Instance{Repo: "django/django", Version: "99.0", TestPatch: "diff --git a/x b/x\n"}, "parse_log_django"},
		"by repository, without the patch": {dataset.Instance{Repo: "sympy/sympy"}, "parse_log_sympy"},
		"unknown":                          {dataset.Instance{Repo: "a/b"}, ""},
		"a name that is none":              {dataset.Instance{LogParser: "parse_log_x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.in.ID, tt.in.FailToPass = "a__b-1", []string{"t"}
			if _, err := family.Find(tt.in, family.Options{}); err == nil {
				t.Error("it could run without a script")
			}
			task, err := family.Find(tt.in, family.Options{LogsOnly: true})
			if (err == nil) != (tt.want != "") || err == nil && task.Parser != tt.want {
				t.Errorf("got %+v, %v; want %s", task, err, tt.want)
			}
		})
	}
}
