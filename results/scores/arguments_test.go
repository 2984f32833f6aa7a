package scores_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/results/scores"
)

const report = `{"submitted_ids": ["a"], "resolved_ids": ["a"]}`

func TestNamesOfEntries(t *testing.T) {
	dir := folder(t, map[string]string{
		"one/r.json": report, "two/r.json": report, "s.json": report, "a=b.json": report, "x,y.json": report,
		"tree/m/a/report.json": `{"a": {"resolved": true}}`, "tree/n/a/report.json": `{"a": {"resolved": true}}`,
	})
	t.Chdir(dir)
	for _, tt := range []struct{ args, want []string }{
		{[]string{"one/r.json", "s.json"}, []string{"r 1", "s 1"}},
		{[]string{"one/r.json", "two/r.json", "s.json"}, []string{"one/r 1", "two/r 1", "s 1"}},
		{[]string{"s.json", "s.json"}, nil}, // named after the test's folder
		{[]string{"s=one/r.json", "s.json"}, nil},
		{[]string{"new=one/r.json", "base=two/r.json"}, []string{"new 1", "base 1"}},
		{[]string{"new=one/r.json,two/r.json", "s.json"}, []string{"new 2", "s 1"}},
		{[]string{"a=b.json"}, []string{"a=b 1"}},
		{[]string{"k=x,y.json"}, []string{"k 1"}},
		{[]string{"tree"}, []string{"m 1", "n 1"}},
		{[]string{"k=tree"}, []string{"k/m 1", "k/n 1"}},
	} {
		entries, err := scores.Options{}.ReadAll(tt.args)
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
		}
		var names []string
		seen := map[string]bool{}
		for _, e := range entries {
			names = append(names, fmt.Sprint(e.Name, " ", len(e.Runs)))
			if seen[e.Name] {
				t.Errorf("%q: the name %q is there twice", tt.args, e.Name)
			}
			seen[e.Name] = true
		}
		if tt.want != nil && !slices.Equal(names, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.args, names, tt.want)
		}
	}
	entries, err := scores.Options{}.ReadAll([]string{"s=one/r.json", "s.json"})
	if err != nil || entries[0].Name != "s" || !strings.HasSuffix(entries[1].Name, "/s") {
		t.Errorf("a name that was given is kept: %+v, %v", entries, err)
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	dir := folder(t, map[string]string{
		"r.json": report, "tree/m/a/report.json": `{"a": {"resolved": true}}`, "tree/n/a/report.json": `{"a": {"resolved": true}}`,
	})
	r := filepath.Join(dir, "r.json")
	for arg, want := range map[string]string{
		"k=" + r + "," + r:                          "twice",
		"k=" + r + "," + dir + "/./r.json":          "twice",
		"k=" + r + ",":                              "a path is empty",
		"k=" + r + "," + filepath.Join(dir, "tree"): "has 2 entries: expected one",
		r + "," + dir + "/tree/m":                   "several paths need a name",
		r + ",nowhere":                              "several paths need a name",
		"nowhere,neither":                           "nowhere,neither is not a run directory",
		"k=":                                        "is not a run directory",
		"nowhere=1":                                 "1 is not a run directory",
	} {
		if _, err := (scores.Options{}).ReadAll([]string{arg}); fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: got %v, want %q", arg, err, want)
		}
	}
	if _, err := (scores.Options{}).ReadAll([]string{"k=" + r, "k=" + dir + "/tree/m"}); fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), `two entries are named "k"`) {
		t.Errorf("got %v", err)
	}
}
