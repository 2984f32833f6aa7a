package logparse_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
)

// recordedOfRebenchV2 are the recorded logs of SWE-rebench V2's parsers, by parser.
func recordedOfRebenchV2(t testing.TB) (names []string, logs map[string][]string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "neighbors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	logs = map[string][]string{}
	for line := range bytes.Lines(b) {
		var c struct{ Dataset, Parser, Log string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if c.Dataset != "rebench-v2" {
			continue
		}
		if logs[c.Parser] == nil {
			names = append(names, c.Parser)
		}
		logs[c.Parser] = append(logs[c.Parser], c.Log)
	}
	return names, logs
}

// FuzzRebenchV2 checks that every parser takes any text: statuses for it or a fault that blames
// the instance, the same each time.
func FuzzRebenchV2(f *testing.F) {
	names, logs := recordedOfRebenchV2(f)
	for i, name := range names {
		for _, log := range logs[name] {
			f.Add(i, log)
		}
	}
	f.Fuzz(func(t *testing.T, parser int, log string) {
		name := names[uint(parser)%uint(len(names))]
		statuses, err := logparse.RebenchV2(name, log)
		if err != nil && fault.KindOf(err) != fault.Instance || err == nil && statuses == nil {
			t.Fatalf("%s: %v, %v", name, statuses, err)
		}
		if again, _ := logparse.RebenchV2(name, log); len(again) != len(statuses) {
			t.Fatalf("%s: the second time gives %d statuses, want %d", name, len(again), len(statuses))
		}
	})
}
