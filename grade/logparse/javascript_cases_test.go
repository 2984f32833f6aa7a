package logparse_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/grade/logparse"
)

// The recorded logs are small odd logs with the results of the reference's Python, null if it raises an
// exception: of release 4.1.0 if v4 is set, else of release 5.0.2.
func TestJavaScriptParsersReadOddLogsAsTheReferenceDoes(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "javascript.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var c struct {
			Name, Parser, Log, ID, Version string
			V4                             bool
			Want                           logparse.Statuses
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.Parser+"/"+c.Name, func(t *testing.T) {
			rules := logparse.V5
			if c.V4 {
				rules = logparse.V4
			}
			got, _, err := logparse.Parse(c.Parser, c.Log, logparse.Row{InstanceID: c.ID, Version: c.Version}, rules)
			if c.Want != nil {
				compare(t, c.Want, got, err)
			} else if err == nil {
				t.Errorf("got %v, want an error", got)
			}
		})
	}
}
