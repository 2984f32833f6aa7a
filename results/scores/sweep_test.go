package scores_test

import (
	"fmt"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/sweeps"
)

// A sweep has an entry for each model with its configuration, and an attempt for each cell.
func TestASweep(t *testing.T) {
	manifest := `{"format_version": 2, "command": "run", "model": "m/x", "config": {}, "dataset": {"name": "d", "count": 2, "instances": ["a", "b"]}}`
	files := map[string]string{}
	for _, cell := range []string{"x-1", "x-2", "y-1"} {
		files[cell+"/manifest.json"] = manifest
		files[cell+"/preds.json"] = "{" + patched("a", "p") + "}"
	}
	files["x-1/m.r.json"], files["x-2/m.r.json"] = `{"submitted_ids": ["a"], "resolved_ids": ["a"]}`, `{"submitted_ids": ["a"], "unresolved_ids": ["a"], "resolved_ids": []}`
	dir := folder(t, files)
	x := sweeps.Index{Cells: []sweeps.Cell{
		{Folder: "x-1", Entry: "x", Attempt: 1, Model: "m/x"},
		{Folder: "x-2", Entry: "x", Attempt: 2, Model: "m/x"},
		{Folder: "y-1", Entry: "y", Attempt: 1, Model: "m/y"},
		{Folder: "y-2", Entry: "y", Attempt: 2, Model: "m/y"},
	}}
	if err := x.Write(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := scores.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		for _, a := range e.Runs {
			got = append(got, e.Name+" "+e.Model+": "+outcomes(a)+strings.Join(a.Notes, ""))
		}
	}
	want := []string{"x m/x: a yes, b no result", "x m/x: a no, b no result", "y m/y: a not graded, b no result", "y m/y: it has not begun"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	named, err := scores.Options{}.ReadAll([]string{"s=" + dir, dir})
	if err != nil || len(named) != 4 || named[0].Name != "s/x" || named[2].Name != "x" {
		t.Errorf("%d entries %+v, %v", len(named), named, err)
	}
	if _, err := (scores.Options{}).ReadAll([]string{"s=" + dir + "," + dir + "/x-1"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a sweep as one of several attempts: %v", err)
	}
}
