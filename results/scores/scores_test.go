package scores_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/results"
	"batch.example/batch/results/scores"
	"batch.example/batch/results/sweeps"
	"batch.example/batch/vocab"
)

// folder writes files below a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// outcomes is "id yes, id no, id reason", by id.
func outcomes(a scores.Run) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(a.Scores)) {
		s := a.Scores[id]
		word := string(s.Left)
		if s.Resolved != nil {
			word = map[bool]string{true: "yes", false: "no"}[*s.Resolved]
		}
		list = append(list, id+" "+word)
	}
	return strings.Join(list, ", ")
}

// one reads a path that has one entry with one attempt.
func one(t *testing.T, o scores.Options, path string) scores.Run {
	t.Helper()
	entries, err := o.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || len(entries[0].Runs) != 1 {
		t.Fatalf("%d entries: %+v", len(entries), entries)
	}
	return entries[0].Runs[0]
}

// patched returns an entry of preds.json.
func patched(id, patch string) string {
	return fmt.Sprintf(`%q: {"model_name_or_path": "m/x", "instance_id": %q, "model_patch": %q}`, id, id, patch)
}

const v5Report = `{"total_instances": 8, "resolved_instances": 1, "completed_ids": ["a", "b", "c"], "incomplete_ids": ["h"],
	"empty_patch_ids": ["f"], "submitted_ids": ["a", "b", "c", "d", "e", "f"], "resolved_ids": ["b"], "unresolved_ids": ["a", "c"],
	"infra_failure_ids": ["a", "d"], "ambiguous_failure_ids": ["c"], "failure_reasons": {"a": "network"}, "error_ids": ["d", "e"], "schema_version": 2}`

func TestWhatEachLayoutSays(t *testing.T) {
	for name, tt := range map[string]struct {
		files     map[string]string
		path      string
		instances []string
		want      string
	}{
		"final report, version 5": {
			files: map[string]string{"m.run.json": v5Report}, path: "m.run.json",
			want: "a no, b yes, c no, d no, e no, f no, h no result",
		},
		"final report without the later members": {
			files: map[string]string{"m.json": `{"submitted_ids": ["a", "b", "c"], "resolved_ids": ["a"], "completed_ids": ["a", "b"]}`}, path: "m.json",
			want: "a yes, b no, c not graded",
		},
		"report of sb-cli": {
			files: map[string]string{"m.json": `{"submitted_ids": ["a", "b", "c"], "resolved_ids": ["a"], "pending_ids": ["b"], "failed_ids": ["c"]}`}, path: "m.json",
			want: "a yes, b not graded, c no",
		},
		"final report of batch": {
			files: map[string]string{"m.json": `{"submitted_ids": ["a"], "resolved_ids": ["a"], "error_ids": ["e", "i"], "no_verdict_ids": ["i"], "quarantined_ids": ["q"]}`}, path: "m.json",
			want: "a yes, e no, i not graded, q quarantined",
		},
		"older report": {
			files: map[string]string{"m.json": `{"none": ["n"], "generated": ["a", "b", "c", "d", "e", "f"], "with_logs": ["a", "b", "c", "d", "e"], "applied": ["a", "b"],
				"no_apply": ["c"], "install_fail": ["d"], "test_errored": ["e"], "resolved": ["a"]}`}, path: "m.json",
			want: "a yes, b no, c no, d no, e no, f no, n no",
		},
		"older report of resolved instances, with the dataset's": {
			files: map[string]string{"m.json": `{"resolved": ["a"]}`}, path: "m.json", instances: []string{"a", "b"},
			want: "a yes, b no",
		},
		"report.json": {
			files: map[string]string{"report.json": `{"a__b-1": {"patch_exists": true, "resolved": true, "tests_status": {}}}`}, path: "report.json",
			want: "a__b-1 yes",
		},
		"mini-swe-agent with a final report": {
			files: map[string]string{
				"preds.json": "{" + patched("a", "p") + "," + patched("b", "p") + "," + patched("f", "") + "," + patched("z", "p") + "," + patched("y", "") + "}",
				"m.run.json": v5Report, "notes.json": `[1, 2]`,
				"y/y.traj.json": `{"info": {"exit_status": "APIError", "model_stats": {"instance_cost": 1, "api_calls": 2}}}`,
			},
			want: "a no, b yes, f no, y infrastructure, z not graded",
		},
		"mini-swe-agent with a tree of reports": {
			files: map[string]string{
				"preds.json": "{" + patched("a", "p") + "," + patched("b", "p") + "," + patched("c", "p") + "," + patched("f", "") + "}",
				"logs/run_evaluation/r/m__x/a/report.json":      `{"a": {"resolved": false}}`,
				"logs/run_evaluation/r/m__x/b/run_instance.log": "Error in building image",
				"logs/run_evaluation/s/m__x/b/report.json":      `{"b": {"resolved": true}}`,
				"logs/run_evaluation/s/m__x/c/run_instance.log": "x\n>>>>> Patch Apply Failed:\n",
			},
			want: "a no, b yes, c no, f no",
		},
		"tree of reports": {
			files: map[string]string{
				"a/report.json": `{"a": {"resolved": true, "infra_failure": false}}`, "b/report.json": `{"b": {"resolved": false, "infra_failure": true}}`,
				"c/run_instance.log": "timed out", "c/patch.diff": "x", "other/file": "",
			},
			want: "a yes, b no, c no",
		},
		"submission with its predictions": {
			files: map[string]string{
				"metadata.yaml": "tags: {model: [m/x]}", "results/results.json": `{"no_generation": ["n"], "no_logs": ["l", "p"], "resolved": ["a"]}`,
				"all_preds.jsonl":         `{"instance_id": "a", "model_patch": "x"}` + "\n" + `{"instance_id": "b", "model_patch": "x"}` + "\n" + `{"instance_id": "l", "model_patch": "x"}`,
				"logs/p/run_instance.log": ">>>>> Patch Apply Failed",
			},
			want: "a yes, b no, l no, n no, p no",
		},
		"submission that lists only resolved instances": {
			files:     map[string]string{"metadata.yaml": "", "results/results.json": `{"no_generation": ["n"], "no_logs": [], "resolved": ["a"]}`},
			instances: []string{"a", "b", "n"},
			want:      "a yes, b no, n no",
		},
		"submission with logs alone": {
			files: map[string]string{"metadata.yaml": "", "preds.json": "[" + `{"instance_id": "e", "model_patch": null}` + "]", "logs/a/report.json": `{"a": {"resolved": true}}`},
			want:  "a yes, e no",
		},
		"submission of the leaderboard's maintainers": {
			files: map[string]string{"per_instance_details.json": `{"a": {"resolved": true, "cost": 0.5, "api_calls": 12}, "b": {"resolved": false}, "c": {"resolved": null}}`},
			want:  "a yes, b no, c not graded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, tt.files)
			if got := outcomes(one(t, scores.Options{Instances: tt.instances}, filepath.Join(dir, tt.path))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestWhatIsKnownOfCostAndSteps(t *testing.T) {
	dir := folder(t, map[string]string{
		"d/per_instance_details.json":   `{"a__b-1": {"resolved": true, "cost": 0.5, "api_calls": 12}}`,
		"s/results/results.json":        `{"generated": ["a__b-1", "a__b-2"], "resolved": ["a__b-1"]}`,
		"s/trajs/a__b-1.traj.json":      `{"info": {"model_stats": {"instance_cost": 0.5, "api_calls": 12}}, "messages": []}`,
		"m/preds.json":                  "{" + patched("a__b-1", "p") + "}",
		"m/a__b-1/a__b-1.traj.json":     `{"info": {"exit_status": "Submitted", "model_stats": {"instance_cost": 0.5, "api_calls": 12}}, "messages": []}`,
		"m/sb-cli-reports/x.json":       `{"submitted_ids": ["a__b-1"], "resolved_ids": ["a__b-1"]}`,
		"m/sb-cli-reports/.x.json.swp ": "",
	})
	for _, name := range []string{"d", "s", "m"} {
		s := one(t, scores.Options{}, filepath.Join(dir, name)).At("a__b-1")
		if s.Resolved == nil || !*s.Resolved || s.Cost == nil || *s.Cost != 0.5 || s.Steps == nil || *s.Steps != 12 || s.Seconds != nil || s.Repo != "a/b" {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := one(t, scores.Options{}, filepath.Join(dir, "s")).At("a__b-2"); s.Cost != nil || s.Steps != nil {
		t.Errorf("without a trajectory: %+v", s)
	}
}

// A tree with several runs has an entry for each, named after the folders.
func TestATreeOfSeveralRuns(t *testing.T) {
	report := `{"a": {"resolved": true}}`
	dir := folder(t, map[string]string{
		"logs/run_evaluation/r1/m/a/report.json": report, "logs/run_evaluation/r2/m/a/report.json": report, "logs/run_evaluation/r2/n/a/report.json": report,
	})
	for path, want := range map[string][]string{
		"": {"r1/m", "r2/m", "r2/n"}, "logs/run_evaluation": {"r1/m", "r2/m", "r2/n"}, "logs/run_evaluation/r2": {"r2/m", "r2/n"},
		"logs/run_evaluation/r1": {"m"}, "logs/run_evaluation/r2/n": {"n"},
	} {
		entries, err := scores.Read(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: got %q, want %q", path, names, want)
		}
	}
}

func TestMalformedFilesAreRefusedByNameAndMember(t *testing.T) {
	for name, tt := range map[string]struct{ file, text, want string }{
		"not JSON":                        {"m.json", `{"resolved_ids": [`, "m.json: unexpected EOF"},
		"a wrong byte":                    {"m.json", `{"resolved_ids": x}`, "m.json: byte 18: invalid character"},
		"a member of the wrong type":      {"m.json", `{"resolved_ids": ["a"], "error_ids": 3}`, `m.json: member "error_ids": expected a list, found number`},
		"a list of numbers":               {"m.json", `{"resolved_ids": ["a"], "unresolved_ids": [1]}`, `member "unresolved_ids": expected a text, found number`},
		"two ends of an instance":         {"m.json", `{"resolved_ids": ["a"], "unresolved_ids": ["a"]}`, `member "unresolved_ids": "a" is in resolved_ids too`},
		"a report of nothing":             {"m.json", `{}`, "m.json: it has no verdict"},
		"resolved is not a bool":          {"m.json", `{"a": {"resolved": "yes"}}`, `member "a.resolved": expected true or false, found string`},
		"no verdict":                      {"m.json", `{"a": {}}`, `member "a": it has no member "resolved"`},
		"null":                            {"m.json", `{"a": null}`, `member "a": it has no member "resolved"`},
		"another JSON value":              {"m.json", `["a"]`, "m.json: expected an object, found array"},
		"something behind":                {"m.json", `{"a": {"resolved": true}} {}`, "something follows the JSON value that ends at byte 25"},
		"only resolved instances":         {"m.json", `{"resolved": ["a"]}`, "it lists only the instances that were resolved"},
		"another instance's report":       {"a/report.json", `{"b": {"resolved": true}}`, `report.json: it has no member "a", which its folder is named after`},
		"results that are none":           {"results/results.json", `{"no_logs": []}`, `member "resolved": expected a list, found none`},
		"results of the wrong type":       {"results/results.json", `{"resolved": [], "no_logs": {}}`, `member "no_logs": expected a list, found object`},
		"details of the wrong type":       {"per_instance_details.json", `{"a": {"resolved": true, "cost": "1"}}`, `member "a.cost": expected a number, found string`},
		"a submission of resolved ones":   {"results/results.json", `{"resolved": ["a"]}`, "it lists only the instances that were resolved"},
		"a report beside the predictions": {"m.json", `{"resolved_ids": 1}`, `member "resolved_ids": expected a list, found number`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string]string{tt.file: tt.text})
			path := dir
			switch {
			case strings.HasPrefix(name, "a report beside"):
				if err := os.WriteFile(filepath.Join(dir, "preds.json"), []byte("{"+patched("a", "p")+"}"), 0o644); err != nil {
					t.Fatal(err)
				}
			case tt.file == "m.json":
				path = filepath.Join(dir, tt.file)
			}
			_, err := scores.Read(path)
			if fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), tt.want) || !strings.Contains(fmt.Sprint(err), filepath.Base(tt.file)) {
				t.Errorf("got %v, want a Usage fault with %q", err, tt.want)
			}
		})
	}
}

func TestPredictionsOfASubmissionThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"instance_id": "a"}` + "\n{": "all_preds.jsonl: line 2: the JSON text ends too early",
		`{"model_patch": 3}`:           "line 1: instance_id is missing",
		`[{"instance_id": 3}]`:         "entry 1: instance_id has to be a string",
		`[{"model_patch": "x"}]`:       "entry 1: instance_id is missing",
		`3`:                            "neither a JSON list nor an object",
	} {
		dir := folder(t, map[string]string{"results/results.json": `{"resolved": ["a"]}`, "all_preds.jsonl": text})
		if _, err := scores.Read(dir); fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// The harness counts its errors as not resolved, and a note says how many that are. A verdict of
// another run of the harness replaces an error.
func TestErrorsOfTheHarnessAreCountedAndNoted(t *testing.T) {
	const (
		first  = `{"submitted_ids": ["a", "b", "c"], "resolved_ids": ["a"], "error_ids": ["b", "c"]}`
		second = `{"submitted_ids": ["b", "c"], "resolved_ids": ["b"], "error_ids": ["c"]}`
	)
	preds := "{" + patched("a", "p") + "," + patched("b", "p") + "," + patched("c", "p") + "}"
	dir := folder(t, map[string]string{
		"m.json": first, "1/preds.json": preds, "1/m.r1.json": first, "1/m.r2.json": second, "2/preds.json": preds, "2/m.r2.json": first, "2/m.r1.json": second,
		"tree/a/report.json": `{"a": {"resolved": true}}`, "tree/b/run_instance.log": "timed out", "tree/c/report.json": "",
	})
	for _, tt := range []struct{ path, want, note string }{
		{"m.json", "a yes, b no, c no", ": 2 count as not resolved"},
		{"tree", "a yes, b no, c no", ": 2 count as not resolved"},
		{"1", "a yes, b yes, c no", ": 1 counts as not resolved"},
		{"2", "a yes, b yes, c no", ": 1 counts as not resolved"},
	} {
		run := one(t, scores.Options{}, filepath.Join(dir, tt.path))
		if got := outcomes(run); got != tt.want || !strings.Contains(strings.Join(run.Notes, "\n"), tt.note) {
			t.Errorf("%s: got %s, notes %q, want %s and %q", tt.path, got, run.Notes, tt.want, tt.note)
		}
	}
}

func TestReportsThatDisagree(t *testing.T) {
	dir := folder(t, map[string]string{
		"preds.json": "{" + patched("a", "p") + "}",
		"m.r1.json":  `{"submitted_ids": ["a"], "resolved_ids": ["a"]}`, "m.r2.json": `{"submitted_ids": ["a"], "resolved_ids": [], "unresolved_ids": ["a"]}`,
	})
	_, err := scores.Read(dir)
	if fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), "m.r1.json and ") || !strings.Contains(fmt.Sprint(err), "disagree about a") {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNotReadable(t *testing.T) {
	dir := folder(t, map[string]string{"empty/x": "", "f.txt": "hello"})
	for path, want := range map[string]string{
		"nowhere": "is not a run directory: it does not exist", "empty": "is not a run directory", "f.txt": "f.txt: byte 1: invalid character",
	} {
		if _, err := scores.Read(filepath.Join(dir, path)); fault.KindOf(err) != fault.Usage || !strings.Contains(fmt.Sprint(err), want) || fault.HintOf(err) == "" {
			t.Errorf("%s: got %v with hint %q, want %q", path, err, fault.HintOf(err), want)
		}
	}
}

// FuzzReports tests that any file is read or refused as a Usage fault, and that an instance with
// a score has no reason to be left out.
func FuzzReports(f *testing.F) {
	for _, seed := range []string{
		v5Report, `{"resolved": ["a"], "generated": ["a", "b"]}`, `{"a": {"resolved": true}}`, `{"a": {"resolved": 1}}`, `{"resolved_ids": [null, "a", "a"]}`,
		`[]`, `null`, `{"instance_id": "a"}`, `[{"instance_id": "a", "model_patch": null}]`, "\xff", `{"a": {"resolved": true, "cost": 1e999}}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		files := map[string]string{
			"m.json": string(text), "tree/a/report.json": string(text), "sub/results/results.json": string(text), "details/per_instance_details.json": string(text),
			"preds/results/results.json": `{"resolved": ["a"], "no_logs": []}`, "preds/all_preds.jsonl": string(text), "beside/preds.json": "{" + patched("a", "p") + "}", "beside/m.json": string(text),
		}
		dir := folder(t, files)
		for _, path := range []string{"m.json", "tree", "sub", "details", "preds", "beside"} {
			entries, err := scores.Options{Instances: []string{"a", "b"}}.Read(filepath.Join(dir, path))
			if err != nil && fault.KindOf(err) != fault.Usage {
				t.Fatalf("%s: %v is not a usage fault", path, err)
			}
			for _, e := range entries {
				for _, a := range e.Runs {
					for id, s := range a.Scores {
						if s.ID != id || (s.Resolved != nil) != (s.Left == "") {
							t.Fatalf("%s: %+v under %q", path, s, id)
						}
					}
				}
			}
		}
	})
}

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

// If the costs of some calls are missing, means and gates of costs say so.
func TestCostsThatMissCallsAreNamed(t *testing.T) {
	record := func(id string, u results.Unanswered) results.Record {
		return results.Record{InstanceID: id, Attempt: 1, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Unanswered: u}
	}
	for want, records := range map[string][]results.Record{
		"": {record("a", results.Unanswered{}), record("b", results.Unanswered{Lost: 2})},
		"its costs are without 3 calls of unknown cost, up to $0.50 together": {record("a", results.Unanswered{Lost: 1, Held: 0.5}), record("b", results.Unanswered{Lost: 2, Unpriced: 1})},
		"its costs are without 2 calls of unknown cost":                       {record("a", results.Unanswered{Lost: 1, Unpriced: 1}), record("b", results.Unanswered{Lost: 1, Unpriced: 1})},
		"its costs are without calls of unknown cost, up to $0.50 together":   {record("a", results.Unanswered{Held: 0.5})},
	} {
		if got := strings.Join(scores.FromSnapshot(&results.Snapshot{Records: records}).Notes, "; "); got != want {
			t.Errorf("notes %q, want %q", got, want)
		}
	}
}

// A result that a person helped with is not the model's alone.
func TestARunNamesWhereAPersonHelped(t *testing.T) {
	records := []results.Record{
		{InstanceID: "a", Attempt: 1, Outcome: vocab.OutcomeSubmitted, Said: 2},
		{InstanceID: "b", Attempt: 1, Outcome: vocab.OutcomeSubmitted},
		{InstanceID: "c", Attempt: 1, Outcome: vocab.OutcomePending, Said: 1}, // no result that is compared
	}
	notes := scores.FromSnapshot(&results.Snapshot{Records: records}).Notes
	if want := []string{"a person helped the agent at 1 instance: a"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
}
