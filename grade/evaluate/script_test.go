package evaluate

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/datasettest"
	"batch.example/batch/fault"
)

const shared = "../../../shared/data/"

func TestTheExitCodeIsRecordedAsInTheReference(t *testing.T) {
	data, err := os.ReadFile(shared + "logs/unit_cases.json")
	if err != nil {
		t.Skip("the recorded cases are not in ../shared/data")
	}
	var cases []struct {
		Test, Fn string
		Input    json.RawMessage
		Expected json.RawMessage
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range cases {
		if c.Fn != "record_test_exit_code" {
			continue
		}
		n++
		var input, want []string
		if err := json.Unmarshal(c.Input, &input); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(c.Expected, &want); err != nil {
			t.Fatal(err)
		}
		if got := recordExitCode(input); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.Test, got, want)
		}
	}
	if n == 0 {
		t.Error("no case of record_test_exit_code is recorded")
	}
}

func bashRun(t *testing.T, text string) (output string, code int) {
	t.Helper()
	file := t.TempDir() + "/eval.sh"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", file)
	cmd.Dir = t.TempDir()
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

func TestScriptsOfEveryForm(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   string // from the start marker to the end marker
		code   int
		coded  bool
	}{
		"official": {
			"#!/bin/bash\nset -uxo pipefail\necho before\n: '>>>>> Start Test Output'\necho tests; (exit 3)\n: '>>>>> End Test Output'\necho after",
			">>>>> Start Test Output N'\n+ echo tests\ntests\n+ exit 3\n+ SWEBENCH_TEST_EXIT_CODE=3\n+ : '>>>>> End Test Output N", 3, true,
		},
		"echo without a trace": {
			"#!/bin/bash\nset -uxo pipefail\n{ set +x; } 2>/dev/null\necho '>>>>> Start Test Output'\n(echo tests; exit 4) 2>/dev/null | cat\necho '>>>>> End Test Output'\nset -x\ntrue",
			">>>>> Start Test Output N\ntests\n>>>>> End Test Output N", 4, true,
		},
		"no markers": {"echo tests\nfalse\n", ">>>>> Start Test Output N'\n>>>>> Start Test Output N\n+ echo tests\ntests\n+ false\n+ SWEBENCH_TEST_EXIT_CODE=1\n+ echo '>>>>> End Test Output N'\n>>>>> End Test Output N", 1, false},
		"two pairs": {
			"set +x\necho '>>>>> Start Test Output'\necho 1\necho '>>>>> End Test Output'\necho '>>>>> Start Test Output'\necho 2; false\necho '>>>>> End Test Output'",
			">>>>> Start Test Output N\n1\n>>>>> End Test Output N", 0, true,
		},
		"the script ends itself": {"set +x\necho '>>>>> Start Test Output'\nexit 0\necho '>>>>> End Test Output'", "", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := compose(tt.script, "N", nil, nil)
			out, code := bashRun(t, s.text)
			got := ""
			start, end := strings.Index(out, startText+" N"), strings.LastIndex(out, endText+" N")
			if start >= 0 && end >= 0 {
				got = out[start : end+len(endText+" N")]
			}
			if got != tt.want || code != tt.code || s.coded != tt.coded {
				t.Errorf("got %q, exit code %d, of the test command %v; want %q, %d, %v\n%s", got, code, s.coded, tt.want, tt.code, tt.coded, out)
			}
		})
	}
}

// The tests can write into the file of the script that runs them.
func TestTheRestOfTheScriptCannotBeChanged(t *testing.T) {
	s := compose("#!/bin/bash\nset +x\necho '>>>>> Start Test Output'\nfor i in 1 2 3; do echo 'exit 0' >> \"$0\"; done; : > \"$0\"; false\necho '>>>>> End Test Output'\n", "N", nil, nil)
	out, code := bashRun(t, s.text)
	if code != 1 || !strings.Contains(out, endText+" N") {
		t.Errorf("exit code %d, want 1:\n%s", code, out)
	}
}

func TestAssetsAreCopiedAfterTheTestPatch(t *testing.T) {
	s := compose("git apply x\n: '>>>>> Start Test Output'\ntest\n: '>>>>> End Test Output'", "N", nil, copies("/f", []Asset{{Path: "a b/it's.png"}, {Path: "c.png"}}))
	want := "git apply x\nmkdir -p 'a b' && cp /f/asset-0 'a b/it'\\''s.png'\nmkdir -p '.' && cp /f/asset-1 'c.png'\n: '>>>>> Start Test Output N'\n"
	if !strings.Contains(s.text, want) {
		t.Errorf("%q is not in\n%s", want, s.text)
	}
}

// Bash must be able to read every published script in braces.
func TestPublishedScriptsAreWholeCommands(t *testing.T) {
	for _, file := range datasettest.Files {
		for i, in := range datasettest.Rows(t, file) {
			if testing.Short() && i%20 != 0 {
				continue
			}
			s := compose(in.EvalScript, "N", nil, nil)
			cmd := exec.Command("bash", "-n")
			cmd.Stdin = strings.NewReader(s.text)
			if out, err := cmd.CombinedOutput(); err != nil || !s.coded {
				t.Errorf("%s: %v: %s", in.ID, err, out)
			}
		}
	}
}

func TestAssetsOfARow(t *testing.T) {
	files := fstest.MapFS{"test/a.png": {Data: []byte("\x89PNG")}, "b.png": {Data: []byte("b")}}
	read := func(s dataset.Asset) ([]byte, error) { return fs.ReadFile(files, s.Path) }
	const all = `{"problem_statement": ["https://x/p.png"], "test_patch": [{"path": "test/a.png", "url": "https://x/a.png"}], "patch": [{"path": "b.png", "url": "u"}]}`
	for name, tt := range map[string]struct {
		column any
		n      int
		want   string // in the error
	}{
		"text":       {all, 2, ""},
		"decoded":    {map[string]any{"test_patch": []any{map[string]any{"path": "b.png"}}}, 1, ""},
		"none":       {nil, 0, ""},
		"empty":      {"", 0, ""},
		"no lists":   {"{}", 0, ""},
		"urls alone": {`{"test_patch": ["https://x/a.png"]}`, 0, ""},
		"missing":    {`{"test_patch": [{"path": "c.png"}]}`, 0, "c.png"},
		"outside":    {`{"test_patch": [{"path": "../c.png"}]}`, 0, "not a path"},
		"absolute":   {`{"test_patch": [{"path": "/c.png"}]}`, 0, "not a path"},
		"no JSON":    {"{", 0, "expected an object"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Assets(dataset.Instance{Fields: map[string]any{"image_assets": tt.column}}, read)
			if len(got) != tt.n || (err != nil) != (tt.want != "") {
				t.Fatalf("got %v, %v", got, err)
			}
			if err != nil && (fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want an instance fault with %q", err, tt.want)
			}
		})
	}
}

func TestRowsThatNeedAssets(t *testing.T) {
	need := 0
	for _, in := range datasettest.Rows(t, "Multimodal-dev") {
		_, err := Assets(in, func(dataset.Asset) ([]byte, error) { return nil, fs.ErrNotExist })
		if err != nil && !strings.Contains(err.Error(), "does not carry") {
			t.Errorf("%s: %v", in.ID, err)
		}
		if err != nil {
			need++
		}
	}
	if need != 13 {
		t.Errorf("%d rows need files, want 13", need)
	}
}
