package family

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/python"
)

// SWE-bench Pro has a script and a parser for each instance in the folder run_scripts of
// scaleapi/SWE-bench_Pro-os (swe_bench_pro_eval.py). The parser is Python, and runs in the
// container.
func isPro(r row) bool { return r.has("selected_test_files_to_run") && r.in.EvalScript == "" }

func fillPro(r row, t *Task) error {
	t.Workdir = "/app"
	t.Timeout = time.Hour
	if t.BaseCommit != "" {
		commit := bash.Quote(t.BaseCommit)
		t.Setup = "git reset -q --hard " + commit + "\ngit checkout -q " + commit + "\n"
	}
	t.rule = pro
	t.Parser = "parser.py"
	t.parse = plain(proParse)
	files, err := r.list("selected_test_files_to_run")
	if err != nil || r.options.EvalScript != "" {
		return err
	}
	run, parse, err := proScripts(r)
	if err != nil {
		return err
	}
	t.Script = proScript(r, files, run, parse)
	t.Command = string(run) + "\n" + strings.Join(files, " ")
	t.TestFiles = checkedOut(lastLine(r.text("before_repo_set_cmd")))
	return nil
}

func proScripts(r row) (run, parse []byte, err error) {
	dir := r.options.RunScripts
	if dir == "" {
		return nil, nil, r.fault("the row of SWE-bench Pro does not hold how its tests are run").
			WithHint("clone https://github.com/scaleapi/SWE-bench_Pro-os and give its folder with `--run-scripts FOLDER/run_scripts`")
	}
	if run, err = os.ReadFile(filepath.Join(dir, r.in.ID, "run_script.sh")); err == nil {
		parse, err = os.ReadFile(filepath.Join(dir, r.in.ID, "parser.py"))
	}
	if err != nil {
		return nil, nil, fault.New(fault.Instance, "grading "+r.in.ID+": reading its run script", err).
			WithHint("the folder of `--run-scripts` needs %s with run_script.sh and parser.py", r.in.ID)
	}
	return run, parse, nil
}

// proScript does the same after the patch as the reference's entry script. The files are unquoted
// there and so split by the shell, and so they are here.
func proScript(r row, files []string, run, parse []byte) string {
	before := lastLine(r.text("before_repo_set_cmd"))
	prepare := []string{
		"mkdir -p /workspace" + needed,
		bash.Print(run) + " > /workspace/run_script.sh",
		bash.Print(parse) + " > /workspace/parser.py",
		"cd /app" + needed,
		before,
		"bash /workspace/run_script.sh " + strings.Join(files, ",") + " > /workspace/stdout.log 2> /workspace/stderr.log",
		"rm -f /workspace/output.json",
		"cat /workspace/stdout.log /workspace/stderr.log",
		"python /workspace/parser.py /workspace/stdout.log /workspace/stderr.log /workspace/output.json",
	}
	return script(prepare, []string{"cat /workspace/output.json"})
}

// lastLine is the one command of before_repo_set_cmd that is run: it checks the tests out.
func lastLine(commands string) string {
	lines := strings.Split(python.Strip(commands), "\n")
	return lines[len(lines)-1]
}

// checkedOut returns the files of a command `git checkout COMMIT -- FILE...`.
func checkedOut(command string) []string {
	if _, files, ok := strings.Cut(command, " -- "); ok && strings.HasPrefix(command, "git checkout ") {
		return strings.Fields(files)
	}
	return nil
}

// proParse reads the output of the parser.
func proParse(log string) logparse.Statuses {
	var out struct {
		Tests []struct{ Name, Status string }
	}
	statuses := logparse.Statuses{}
	begin := strings.Index(log, "{")
	if begin < 0 || json.NewDecoder(strings.NewReader(log[begin:])).Decode(&out) != nil {
		return statuses
	}
	for _, t := range out.Tests {
		if statuses[t.Name] != logparse.Passed { // one pass of a name is enough
			statuses[t.Name] = t.Status
		}
	}
	return statuses
}

// pro requires every test to have passed.
func pro(s logparse.Statuses, t grade.Tests) outcome {
	ok := func(test string) bool { return s[test] == logparse.Passed }
	return all(t, ok, ok)
}
