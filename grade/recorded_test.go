package grade_test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/datasettest"
	"batch.example/batch/grade"
	"batch.example/batch/grade/evaluate"
	"batch.example/batch/grade/logparse"
)

// open opens recorded material, or skips the test if it is missing.
func open(t testing.TB, name string) io.Reader {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "shared", "data", name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("../shared/data/%s is not here", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return file
	}
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	return unzipped
}

// parser returns the registered parser of this name. The material has some old names.
func parser(name string, row logparse.Row, r logparse.Rules) grade.Parse {
	if byRepo, ok := logparse.ForRepo(row.Repo); ok && !slices.Contains(logparse.Names(), name) {
		name = byRepo
	}
	return func(log string) (logparse.Statuses, []string, error) { return logparse.Parse(name, log, row, r) }
}

// unitCase is one call of the reference's own tests.
type unitCase struct {
	Test, Fn, Case string
	LogParser      string              `json:"log_parser"`
	EvalType       string              `json:"eval_type"`
	Input          any                 `json:"input"`
	StatusMap      logparse.Statuses   `json:"status_map"`
	Gold           map[string][]string `json:"gold"`
	Expected       json.RawMessage     `json:"expected"`
	Resolution     grade.Resolution    `json:"resolution"`
}

func TestTheReferencesOwnTests(t *testing.T) {
	var cases []unitCase
	if err := json.NewDecoder(open(t, "logs/unit_cases.json")).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases {
		var got any
		switch c.Fn {
		case "get_logs_eval":
			j := judge(t, c.Input.(string), parser(c.LogParser, logparse.Row{}, logparse.V5), grade.Tests{}, c.EvalType, logparse.V5)
			got = map[string]any{"status_map": nonNil(j.Statuses), "found": j.Found}
		case "parse_test_exit_code":
			// It only matters whether the code is known and not 0: then a log without a failure
			// does not count.
			log := ">>>>> Start Test Output\nPASSED a\n>>>>> End Test Output\n" + c.Input.(string)
			j := judge(t, log, words, grade.Tests{}, grade.PassAndFail, logparse.V5)
			code, err := strconv.Atoi(string(c.Expected))
			if want := err == nil && code != 0; j.Found == want || want && !strings.HasSuffix(j.Why, " "+string(c.Expected)) {
				t.Errorf("%s: found %v, %s", c.Test, j.Found, j.Why)
			}
			ran++
			continue
		case "test_passed", "test_failed", "test_maintained":
			j := statusesOf(t, c.StatusMap, grade.Tests{FailToPass: []string{c.Case}, PassToPass: []string{c.Case}}, c.EvalType)
			got = map[string]bool{
				"test_passed":     len(j.Tests.FailToPass.Success) > 0,
				"test_failed":     len(j.Tests.FailToPass.Failure) > 0,
				"test_maintained": len(j.Tests.PassToPass.Success) > 0,
			}[c.Fn]
		case "get_eval_tests_report":
			j := statusesOf(t, c.StatusMap, grade.Tests{FailToPass: c.Gold["FAIL_TO_PASS"], PassToPass: c.Gold["PASS_TO_PASS"]}, c.EvalType)
			if j.Resolution != c.Resolution {
				t.Errorf("%s: %s, want %s", c.Test, j.Resolution, c.Resolution)
			}
			got = j.Tests
		default: // a case for a parser or the eval script
			continue
		}
		ran++
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, text, c.Expected) {
			t.Errorf("%s %q: %s, want %s", c.Test, c.Case, text, c.Expected)
		}
	}
	if ran < 30 {
		t.Errorf("%d cases ran", ran)
	}
}

// statusesOf judges a log that has exactly these statuses.
func statusesOf(t *testing.T, statuses logparse.Statuses, tests grade.Tests, evalType string) grade.Judgement {
	t.Helper()
	if evalType == "" {
		evalType = grade.PassAndFail
	}
	parse := func(string) (logparse.Statuses, []string, error) { return statuses, nil, nil }
	return judge(t, ">>>>> Start Test Output\n1 passing\n>>>>> End Test Output\n", parse, tests, evalType, logparse.V5)
}

func judge(t testing.TB, log string, p grade.Parse, tests grade.Tests, evalType string, r logparse.Rules) grade.Judgement {
	t.Helper()
	j, err := grade.Judge(grade.Log{Text: []byte(log)}, p, tests, evalType, r)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	xs, _ := json.Marshal(x)
	ys, _ := json.Marshal(y)
	return string(xs) == string(ys)
}

func nonNil(s logparse.Statuses) logparse.Statuses {
	if s == nil {
		return logparse.Statuses{}
	}
	return s
}

// each calls f with every line of a file of JSON lines.
func each(t testing.TB, name string, f func(line []byte)) (n int) {
	t.Helper()
	lines := bufio.NewReaderSize(open(t, name), 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			f(line)
			n++
		}
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Logs in the form of each test runner, with the reference's results.
func TestSyntheticLogs(t *testing.T) {
	n := each(t, "logs/synthetic.jsonl.gz", func(line []byte) {
		var c struct {
			InstanceID string `json:"instance_id"`
			Repo       string
			Version    string
			LogParser  string `json:"log_parser"`
			EvalType   string `json:"eval_type"`
			Mode       string
			Log        string
			FailToPass []string `json:"FAIL_TO_PASS"`
			PassToPass []string `json:"PASS_TO_PASS"`
			Expected   struct {
				Found      bool
				StatusMap  logparse.Statuses `json:"status_map"`
				Resolution grade.Resolution
				F2PFail    int `json:"f2p_fail"`
				P2PFail    int `json:"p2p_fail"`
			}
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		row := logparse.Row{InstanceID: c.InstanceID, Repo: c.Repo, Version: c.Version}
		j := judge(t, c.Log, parser(c.LogParser, row, logparse.V5), grade.Tests{FailToPass: c.FailToPass, PassToPass: c.PassToPass}, c.EvalType, logparse.V5)
		want := c.Expected
		if j.Found != want.Found || !maps.Equal(j.Statuses, want.StatusMap) {
			t.Errorf("%s %s %s: found %v, %d statuses; want %v, %d", c.InstanceID, c.LogParser, c.Mode, j.Found, len(j.Statuses), want.Found, len(want.StatusMap))
		}
		if want.Found && (j.Resolution != want.Resolution || len(j.Tests.FailToPass.Failure) != want.F2PFail || len(j.Tests.PassToPass.Failure) != want.P2PFail) {
			t.Errorf("%s %s %s: %s, want %s", c.InstanceID, c.LogParser, c.Mode, j.Resolution, want.Resolution)
		}
	})
	t.Logf("%d logs", n)
}

// realLogs returns the logs of an official run, by instance.
func realLogs(t testing.TB) map[string]map[string][]byte {
	t.Helper()
	logs := map[string]map[string][]byte{}
	archive := tar.NewReader(open(t, "logs/verified-98.tar.gz"))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return logs
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		id := filepath.Base(filepath.Dir(h.Name))
		if logs[id] == nil {
			logs[id] = map[string][]byte{}
		}
		if logs[id][filepath.Base(h.Name)], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// verified are the rows of SWE-bench Verified.
func verified(t testing.TB) map[string]dataset.Instance {
	t.Helper()
	rows := map[string]dataset.Instance{}
	for _, in := range datasettest.Rows(t, "Verified-test") {
		rows[in.ID] = in
	}
	return rows
}

func TestRealLogs(t *testing.T) {
	logs, rows := realLogs(t), verified(t)
	n := each(t, "logs/verified-98.expected.jsonl.gz", func(line []byte) {
		var c struct {
			InstanceID string            `json:"instance_id"`
			Found      bool              `json:"found_v5"`
			ResolvedV5 bool              `json:"resolved_v5"`
			ResolvedV4 bool              `json:"resolved_v4"`
			Statuses   logparse.Statuses `json:"status_map_v5"`
			Official   struct {
				Applied  bool `json:"patch_successfully_applied"`
				Resolved bool
			}
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		in, log := rows[c.InstanceID], string(logs[c.InstanceID]["test_output.txt"])
		row := logparse.Row{InstanceID: in.ID, Repo: in.Repo, Version: in.Version}
		tests := grade.Tests{FailToPass: in.FailToPass, PassToPass: in.PassToPass}
		v5 := judge(t, log, parser(in.LogParser, row, logparse.V5), tests, in.EvalType, logparse.V5)
		v4 := judge(t, log, parser(in.LogParser, row, logparse.V4), tests, in.EvalType, logparse.V4)
		if v5.Found != c.Found || v5.Resolved != c.ResolvedV5 || !maps.Equal(v5.Statuses, c.Statuses) {
			t.Errorf("%s: found %v, resolved %v; want %v, %v", in.ID, v5.Found, v5.Resolved, c.Found, c.ResolvedV5)
		}
		if v4.Resolved != c.ResolvedV4 || v4.Resolved != c.Official.Resolved || v4.Found != c.Official.Applied {
			t.Errorf("%s, v4: found %v, resolved %v; want %v, %v", in.ID, v4.Found, v4.Resolved, c.Official.Applied, c.ResolvedV4)
		}
		list := v5.Suspicious
		if v5.Resolved {
			patch := logs[c.InstanceID]["patch.diff"]
			list = append(list, evaluate.Doubts(patch, []byte(in.Patch), in.EvalScript, grade.Log{Text: []byte(log)}, v5, parser(in.LogParser, row, logparse.V5))...)
		}
		if len(list) > 0 {
			t.Errorf("%s is suspicious: %q", in.ID, list)
		}
	})
	if n != 98 {
		t.Errorf("%d logs", n)
	}
}
