package logparse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
)

const sharedLogs = "../../../shared/data/logs"

func open(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedLogs, name))
	if err != nil {
		t.Skipf("the recorded logs are not in ../shared/data: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func compare(t *testing.T, want, got logparse.Statuses, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("statuses (-want +got):\n%s", d)
	}
}

func TestUnitCasesOfTheReference(t *testing.T) {
	var cases []struct {
		Test, Parser, Alias string
		Input, Expected     json.RawMessage
	}
	if err := json.NewDecoder(open(t, "unit_cases.json")).Decode(&cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Parser == "" { // a case of grading
			continue
		}
		t.Run(c.Parser+"/"+c.Test, func(t *testing.T) {
			var log string
			var want logparse.Statuses
			if err := errors.Join(json.Unmarshal(c.Input, &log), json.Unmarshal(c.Expected, &want)); err != nil {
				t.Fatal(err)
			}
			got, _, err := logparse.Parse(c.Parser, log, logparse.Row{}, logparse.V5)
			compare(t, want, got, err)
		})
	}
}

// oddLog is a small log of odd text and the reference's result: names and statuses in order, null
// if it raises an exception. V4 is set if release 4.1.0 differs.
type oddLog struct {
	Parser, Log, ID, Version string
	Want, V4                 json.RawMessage
}

func oddLogs(t testing.TB) []oddLog {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "odd*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no odd logs: %v", err)
	}
	var all []oddLog
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var o oddLog
			if err := json.Unmarshal(line, &o); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			if o.V4 == nil {
				o.V4 = o.Want
			}
			all = append(all, o)
		}
	}
	return all
}

func TestOddLogsAreReadAsTheReferenceDoes(t *testing.T) {
	for i, o := range oddLogs(t) {
		for rules, want := range map[logparse.Rules]json.RawMessage{logparse.V5: o.Want, logparse.V4: o.V4} {
			t.Run(fmt.Sprintf("%s/%s/%d", o.Parser, rules, i+1), func(t *testing.T) { checkOdd(t, o, rules, want) })
		}
	}
}

func checkOdd(t *testing.T, o oddLog, rules logparse.Rules, recorded json.RawMessage) {
	var want [][2]string
	if err := json.Unmarshal(recorded, &want); err != nil {
		t.Fatal(err)
	}
	statuses, order, err := logparse.Parse(o.Parser, o.Log, logparse.Row{InstanceID: o.ID, Version: o.Version}, rules)
	if want == nil {
		if fault.KindOf(err) != fault.Instance || !strings.Contains(err.Error(), o.Parser) {
			t.Fatalf("%q gives %v, %v; want an instance fault that names the parser", o.Log, statuses, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	got := make([][2]string, 0, len(order))
	for _, name := range order {
		got = append(got, [2]string{name, statuses[name]})
	}
	if d := cmp.Diff(want, got); d != "" || len(order) != len(statuses) {
		t.Errorf("%q (-want +got):\n%s", o.Log, d)
	}
}
