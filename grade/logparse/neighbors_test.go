package logparse_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
)

// The recorded logs are small odd texts with the results of the neighbors' own parsers, null if
// they raise an exception.
func TestNeighborsLogsAreReadAsTheyDo(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "neighbors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var c struct {
			Dataset, Parser, Log string
			Want                 logparse.Statuses
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprintf("%s/%s/%.20q", c.Dataset, c.Parser, c.Log), func(t *testing.T) {
			got, err := logparse.RebenchV2(c.Parser, c.Log)
			if c.Dataset != "rebench-v2" {
				got, _, err = logparse.Parse(c.Parser, c.Log, logparse.Row{}, logparse.V5)
			}
			if c.Want == nil {
				if fault.KindOf(err) != fault.Instance {
					t.Fatalf("%q gives %v, %v; want an instance fault", c.Log, got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.Want, got); d != "" {
				t.Errorf("%q (-want +got):\n%s", c.Log, d)
			}
		})
	}
}

func TestTimesAreCutFromNamesOfRebenchV2(t *testing.T) {
	for name, want := range map[string]string{
		"Suite > name [12 ms]":            "Suite > name",
		"name [1.34 MS ] ":                "name",
		"hash in 29.08 msec of 3":         "hash of 3",
		"a in 1 sec b in 2 sec":           "a b",
		"name (1.2s)":                     "name",
		" name ( 123ms ) ":                "name",
		"name (1.2s) [3 ms]":              "name",
		"name [3 ms] (1.2s)":              "name [3 ms]",
		"name in 3 seconds":               "name in 3 seconds",
		"name (2 s) more":                 "name (2 s) more",
		"name [x ms]":                     "name [x ms]",
		"name\u00a0(٣s)":                  "name",
		"tests/test_a.py::test_b[in 3 s]": "tests/test_a.py::test_b[in 3 s]",
	} {
		if got := logparse.NormalizeRebenchV2(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

func TestParsersThatRebenchV2AddedAreTheCallersToBring(t *testing.T) {
	for _, name := range []string{"parse_log_haskell", "parse_log_carbon"} {
		if _, err := logparse.RebenchV2(name, ""); fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%s: got %v, want a usage fault with a hint", name, err)
		}
	}
}

func TestNormalizeR2EGym(t *testing.T) {
	got := logparse.NormalizeR2EGym(logparse.Statuses{
		"\x1b[1mtest_a\x1b[0m": logparse.Passed, "C.test_b - x": logparse.Failed, "C.test_b - y": logparse.Passed, "": logparse.Error,
	})
	want := logparse.Statuses{"test_a": logparse.Passed, "C.test_b": logparse.Passed, "": logparse.Error}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestSWEGymsRepositories(t *testing.T) {
	for repo, want := range map[string]string{
		"Project-MONAI/MONAI": "parse_log_pytest", "pydantic/pydantic": "parse_log_pytest_pydantic",
		"django/django": "parse_log_django", "own/nothing": "",
	} {
		if name, ok := logparse.ForSWEGymRepo(repo); name != want || ok != (want != "") {
			t.Errorf("%s has the parser %q, %v; want %q", repo, name, ok, want)
		}
	}
	got, _, err := logparse.Parse("parse_log_pytest_pydantic",
		"FAILED [ 12%] a.py::b - x\n\x1b[31mFAILED\x1b[0m[1%] c\nd PASSED [2%]\ne f FAILED [3%]\n", logparse.Row{}, logparse.V5)
	if d := cmp.Diff(logparse.Statuses{"a.py::b": logparse.Failed, "c": logparse.Failed, "e": "f"}, got); d != "" || err != nil {
		t.Errorf("%v, statuses (-want +got):\n%s", err, d)
	}
	for _, log := range []string{"PASSED\n", "FAILED - \n"} {
		if _, _, err := logparse.Parse("parse_log_pytest_pydantic", log, logparse.Row{}, logparse.V5); fault.KindOf(err) != fault.Instance {
			t.Errorf("got %v for %q, which has one word, want an instance fault", err, log)
		}
		if _, err := logparse.RebenchV2("parse_log_pytest_v2", log); fault.KindOf(err) != fault.Instance {
			t.Errorf("SWE-rebench-V2: got %v for %q, which has one word, want an instance fault", err, log)
		}
	}
}
