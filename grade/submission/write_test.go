package submission_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/grade/submission"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// write writes files into dir; the keys are their paths.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// tree returns the content of a folder as one text.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		fmt.Fprintf(&b, "-- %s --\n%s\n", filepath.ToSlash(name), strings.TrimSuffix(string(text), "\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		write(t, "testdata", map[string]string{name: got})
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (run with -update if that is meant):\n%s", name, diff)
	}
}

const binary = "diff --git a/caf\xe9 b/caf\xe9\n"

// graded makes a run directory of four instances: resolved, unresolved, with an empty
// patch and with a patch that is not text.
func graded(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	report := func(id string, resolved bool) string { return fmt.Sprintf(`{"%s": {"resolved": %t}}`, id, resolved) }
	files := map[string]string{
		"manifest.json": `{"format_version": 1, "batch_version": "1.0", "model": "openai/gpt-5", "prompts": "batch's built-in default",
			"config": {"environment": {"network": "none"}},
			"dataset": {"name": "demo", "split": "test", "count": 4, "instances": ["own__x-3", "own__x-1", "own__x-2", "own__x-4"]}}`,
		"preds.json": `{
			"own__x-1": {"model_name_or_path": "openai/gpt-5", "instance_id": "own__x-1", "model_patch": "diff --git a/<é> b/x\n"},
			"own__x-2": {"model_name_or_path": "openai/gpt-5", "instance_id": "own__x-2", "model_patch": "diff --git a/y b/y\r\n"},
			"own__x-3": {"model_name_or_path": "openai/gpt-5", "instance_id": "own__x-3", "model_patch": null},
			"own__x-4": {"model_name_or_path": "openai/gpt-5", "instance_id": "own__x-4", "model_patch": "diff --git a/caf\ufffd b/caf\ufffd\n"}}`,
		"own__x-4/own__x-4.patch": binary,
	}
	patches := map[string]string{"own__x-1": "diff --git a/<é> b/x\n", "own__x-2": "diff --git a/y b/y\r\n", "own__x-4": binary}
	for _, id := range []string{"own__x-1", "own__x-2", "own__x-3", "own__x-4"} {
		files[id+"/"+id+".traj.json"] = `{"info": {"exit_status": "Submitted"}, "messages": [], "trajectory_format": "mini-swe-agent-1.1", "instance_id": "` + id + `"}`
	}
	for id, patch := range patches {
		folder := "logs/run_evaluation/run/openai__gpt-5/" + id + "/"
		files[folder+"patch.diff"] = patch
		files[folder+"eval.sh"] = "#!/bin/bash\n"
		files[folder+"test_output.txt"] = "PASSED t\r\n\xff\n"
		files[folder+"report.json"] = report(id, id != "own__x-2")
		files[folder+"run_instance.log"] = "Result for " + id + "\n"
	}
	write(t, dir, files)
	log, err := grades.Open(dir, grades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text := map[string]string{"own__x-1": patches["own__x-1"], "own__x-2": patches["own__x-2"], "own__x-4": strings.ToValidUTF8(binary, "\ufffd")}
	for id, v := range map[string]vocab.Verdict{"own__x-1": vocab.VerdictResolved, "own__x-2": vocab.VerdictUnresolved, "own__x-4": vocab.VerdictResolved} {
		if err := log.Add(grades.Grade{InstanceID: id, Model: "openai/gpt-5", Patch: grades.PatchDigest(text[id]), Verdict: v, Log: "logs/run_evaluation/run/openai__gpt-5/" + id}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func trace(w io.Writer, in submission.Instance) error {
	_, err := fmt.Fprintf(w, "the steps of %s, attempt %d\n", in.ID, in.Attempt)
	return err
}

func read(t *testing.T, dir string) *submission.Run {
	t.Helper()
	r, err := submission.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAFolderForTheLeaderboard(t *testing.T) {
	dir := graded(t)
	r := read(t, dir)
	target := submission.Target{Split: "test"}
	m := metadata()
	m.Logo, m.Repo = filepath.Join(t.TempDir(), "Our logo.PNG"), ""
	write(t, filepath.Dir(m.Logo), map[string]string{filepath.Base(m.Logo): "image"})
	if f := submission.CheckLeaderboard(r, target, m, "x"); f.Err("x") != nil {
		t.Fatal(f.Violations)
	}
	out := filepath.Join(t.TempDir(), "deep", "20261123_my-agent")
	if err := submission.WriteLeaderboard(r, target, m, out, trace); err != nil {
		t.Fatal(err)
	}
	golden(t, "leaderboard.txt", tree(t, out))
	if left, _ := os.ReadDir(filepath.Dir(out)); len(left) != 1 {
		t.Errorf("got %v beside the folder, want nothing", left)
	}
	if info, _ := os.Stat(out); info.Mode().Perm()&0o055 != 0o055 {
		t.Errorf("got mode %v, want a folder that others can read", info.Mode())
	}
	if text, _ := os.ReadFile(filepath.Join(out, "logs", "own__x-4", "patch.diff")); string(text) != binary {
		t.Errorf("got patch %q, want its bytes %q", text, binary)
	}
	err := submission.WriteLeaderboard(r, target, m, out, trace)
	if fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v for a folder that exists, want a usage fault", err)
	}
}

func TestMetadataOfEachKindOfEntry(t *testing.T) {
	r := read(t, graded(t))
	m := metadata()
	m.Logo = ""
	var b strings.Builder
	for _, c := range []struct{ board, repo string }{{"lite", ""}, {"verified", "https://my.example/repo/"}, {"multimodal", ""}} {
		m.Repo = c.repo
		out := filepath.Join(t.TempDir(), "20261123_my-agent")
		if err := submission.WriteLeaderboard(r, submission.Target{Board: board(t, c.board), Split: "test"}, m, out, trace); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(out, "metadata.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "-- %s --\n%s", c.board, text)
		files, _ := os.ReadDir(out)
		if c.board == "multimodal" && len(files) != 2 {
			t.Errorf("got %v for multimodal, want README.md and metadata.yaml alone", files)
		}
	}
	golden(t, "metadata.txt", b.String())
}

func TestAFailureLeavesNothingBehind(t *testing.T) {
	r := read(t, graded(t))
	parent := t.TempDir()
	want := errors.New("unreadable")
	err := submission.WriteLeaderboard(r, submission.Target{}, metadataWithoutLogo(), filepath.Join(parent, "out"), func(io.Writer, submission.Instance) error { return want })
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if left, _ := os.ReadDir(parent); len(left) != 0 {
		t.Errorf("got %v, want nothing", left)
	}
}

func metadataWithoutLogo() submission.Metadata {
	m := metadata()
	m.Logo = ""
	return m
}

func TestThePredictionsForSBCLI(t *testing.T) {
	r := read(t, graded(t))
	dir := t.TempDir()
	var lists [2][]map[string]string
	for i, name := range []string{"preds.json", "preds.jsonl"} {
		file := filepath.Join(dir, name)
		if err := submission.WriteSBCLI(r, file); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name == "preds.json" {
			err = json.Unmarshal(text, &lists[i])
		} else {
			err = json.Unmarshal([]byte("["+strings.Join(slices.Collect(strings.Lines(strings.TrimSpace(string(text)))), ",")+"]"), &lists[i])
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if !strings.Contains(string(text), "<é>") {
			t.Errorf("%s: the patch is not there as it is:\n%s", name, text)
		}
	}
	want := []map[string]string{
		{"instance_id": "own__x-3", "model_name_or_path": "openai/gpt-5", "model_patch": ""},
		{"instance_id": "own__x-1", "model_name_or_path": "openai/gpt-5", "model_patch": "diff --git a/<é> b/x\n"},
		{"instance_id": "own__x-2", "model_name_or_path": "openai/gpt-5", "model_patch": "diff --git a/y b/y\r\n"},
		{"instance_id": "own__x-4", "model_name_or_path": "openai/gpt-5", "model_patch": "diff --git a/caf\ufffd b/caf\ufffd\n"},
	}
	for _, got := range lists {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadingARun(t *testing.T) {
	dir := graded(t)
	text, err := os.ReadFile(filepath.Join(dir, "preds.json"))
	if err != nil {
		t.Fatal(err)
	}
	twice := strings.TrimSuffix(string(text), "}") + `, "own__x-2": {"model_name_or_path": "other", "instance_id": "own__x-2", "model_patch": "b"}}`
	write(t, dir, map[string]string{"preds.json": twice, "logs/run_evaluation/run/openai__gpt-5/own__x-1/report.json": "no JSON", "quarantine.txt": "own__x-3\n"})
	if err := os.Remove(filepath.Join(dir, "own__x-3", "own__x-3.traj.json")); err != nil {
		t.Fatal(err)
	}
	f := submission.CheckLeaderboard(read(t, dir), submission.Target{Split: "test"}, metadata(), "20261123_x")
	want := []string{
		"predictions: more than one for 1 instance (own__x-2)",
		"predictions: 2 values of model_name_or_path",
		"grades: 1 instance (own__x-2) without a verdict", // the other patch has no verdict
		"logs: report.json has another verdict than grades.jsonl for 1 instance (own__x-1)",
		"trajs: 1 instance (own__x-3) without a trajectory",
	}
	if len(f.Violations) != len(want) {
		t.Fatalf("got %q, want %q", f.Violations, want)
	}
	for i, v := range f.Violations {
		if !strings.Contains(v, want[i]) {
			t.Errorf("got %q, want %q", v, want[i])
		}
	}
	if note := "in quarantine here, and counted by the leaderboard: 1 instance (own__x-3)"; !slices.Contains(f.Notes, note) {
		t.Errorf("no note %q in %q", note, f.Notes)
	}
	if _, err := submission.Read(t.TempDir()); fault.KindOf(err) != fault.Usage {
		t.Errorf("got %v for an empty folder, want a usage fault", err)
	}
}

func TestTheChecklistTicksWhatTheRunShows(t *testing.T) {
	r := read(t, graded(t))
	for i := range r.Instances {
		r.Instances[i].Attempt = 1 // as if batch had made them
	}
	for network, want := range map[string]int{"none": 4, "bridge": 3} {
		r.Config = map[string]any{"environment": map[string]any{"network": network}}
		out := filepath.Join(t.TempDir(), "out")
		if err := submission.WriteLeaderboard(r, submission.Target{}, metadataWithoutLogo(), out, trace); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(out, "README.md"))
		if got := strings.Count(string(text), "- [x] "); got != want {
			t.Errorf("network %s: got %d points ticked, want %d:\n%s", network, got, want, text)
		}
		if !strings.Contains(string(text), "Run by: batch 1.0, prompts: batch's built-in default") {
			t.Errorf("it does not say what made the run:\n%s", text)
		}
	}
}
