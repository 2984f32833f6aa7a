package logparse_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

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
