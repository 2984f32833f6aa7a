package merging_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/atomicfile"
	"batch.example/batch/internal/inject"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/results/manifest"
	"batch.example/batch/run/merging"
	"batch.example/batch/vocab"
)

// binary is a patch that JSON cannot hold.
const binary = "diff --git a/x b/x\r\n\xff\n"

// shard makes the run directory of a shard with results of these instances. "failed" has none.
func shard(t *testing.T, dir, part string, change func(*manifest.Manifest), ids ...string) string {
	t.Helper()
	s, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := manifest.NewRequest()
	r.Subset, r.Shard, r.CostLimit, r.Grade = "demo", part, 6, true
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := &manifest.Manifest{
		Command: "run", Request: &r, Model: "m", Created: began, Config: map[string]any{"agent": map[string]any{"step_limit": 5}},
		Dataset: manifest.Dataset{Name: "demo", Digest: "d", Instances: ids, Count: len(ids)},
		Runs:    []manifest.Run{{Started: began, CostLimit: 6, CostShare: 2}},
	}
	if change != nil {
		change(m)
	}
	if err := s.WriteManifest(m); err != nil {
		t.Fatal(err)
	}
	log, err := s.Grades()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		a, err := s.Begin(id, manifest.Settings{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		res := &results.Result{
			Record:     results.Record{InstanceID: id, Attempt: a.Number(), Model: "m", Cost: 0.5, Steps: 1, Status: "Submitted", Outcome: vocab.OutcomeSubmitted},
			Submission: []byte(id + binary), Prediction: id,
		}
		if strings.HasPrefix(id, "failed") {
			res = &results.Result{Record: results.Record{
				InstanceID: id, Attempt: a.Number(), Model: "m", Status: "TransientFault", Outcome: vocab.OutcomeInfrastructure, Blame: "transient", Error: "EOF",
			}}
		}
		p, err := s.Put(t.Context(), res)
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			continue
		}
		folder := "logs/run_evaluation/" + filepath.Base(dir) + "/m/" + id
		write(t, filepath.Join(dir, folder, "test_output.txt"), "log of "+id)
		if err := log.Add(grades.Grade{InstanceID: id, Attempt: 1, Model: "m", Patch: grades.PatchDigest(id), Verdict: vocab.VerdictResolved, Rules: "v5", Log: folder}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "batch.log"), "log of "+part+"\n")
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree returns the digests, modes and times of all files below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		rel, _ := filepath.Rel(dir, path)
		all[rel] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), sha256.Sum256(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestShardsBecomeOneRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := shard(t, filepath.Join(dir, "1"), "1/3", nil, "c", "a")
	two := shard(t, filepath.Join(dir, "2"), "2/3", nil, "b", "failed")
	write(t, filepath.Join(two, "quarantine.txt"), "b # flaky")
	write(t, filepath.Join(one, "foreign", "foreign.traj.json"), `{"info": {"exit_status": "Submitted"}}`)
	preds, err := os.ReadFile(filepath.Join(one, "preds.json"))
	if err != nil {
		t.Fatal(err)
	}
	other := `{"foreign": {"model_name_or_path": "other-model", "instance_id": "foreign", "model_patch": "p", "more": [1]},` + string(preds[1:])
	write(t, filepath.Join(one, "preds.json"), other)
	before := []map[string]string{tree(t, one), tree(t, two)}
	out := filepath.Join(dir, "all")
	m, err := merging.Merge(merging.Config{Dirs: []string{two, one, one}, Output: out, Argv: []string{"merge"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range []string{one, two} {
		if diff := cmp.Diff(before[i], tree(t, d)); diff != "" {
			t.Errorf("%s was changed (-before +after):\n%s", d, diff)
		}
	}
	want := &merging.Merged{
		Dir: out, Dirs: 2, Instances: []string{"a", "b", "c", "failed", "foreign"}, Unfinished: []string{"failed"}, Predictions: 4,
		Report: filepath.Join(out, "several-models.all.json"),
		Shards: []dataset.Shard{{I: 1, N: 3}, {I: 2, N: 3}}, Missing: []dataset.Shard{{I: 3, N: 3}},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}

	// An instance's files are as in its shard, modes and times included.
	merged := tree(t, out)
	for i, d := range []string{one, two} {
		for name, file := range before[i] {
			id, _, below := strings.Cut(name, string(filepath.Separator))
			if below && id != "logs" && merged[name] != file {
				t.Errorf("%s/%s: got %s, want %s", d, name, merged[name], file)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(out, "a", "a.patch")); err != nil || string(text) != "a"+binary {
		t.Errorf("patch %q, %v", text, err)
	}
	text, err := os.ReadFile(filepath.Join(out, "logs/run_evaluation/all/m/b/test_output.txt"))
	if err != nil || string(text) != "log of b" {
		t.Errorf("log %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(out, "batch.log")); err != nil || !strings.HasPrefix(string(text), "log of 2/3\nlog of 1/3\ntime=") {
		t.Errorf("batch.log %q, %v", text, err)
	}
	var entries map[string]map[string]any
	text, _ = os.ReadFile(filepath.Join(out, "preds.json"))
	if err := json.Unmarshal(text, &entries); err != nil || entries["foreign"]["more"] == nil {
		t.Errorf("preds.json %s, %v; want another tool's member kept", text, err)
	}
	if order := strings.Index(string(text), `"a"`) < strings.Index(string(text), `"c"`); !order {
		t.Errorf("preds.json is not sorted:\n%s", text)
	}

	snap, err := results.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	resolved := map[string]string{}
	for _, r := range snap.Records {
		resolved[r.InstanceID] = "none"
		if r.Resolved != nil {
			resolved[r.InstanceID] = fmt.Sprint(*r.Resolved)
		}
		if r.Grade != nil && r.Grade.Log != "logs/run_evaluation/all/m/"+r.InstanceID {
			t.Errorf("%s: the log is %s", r.InstanceID, r.Grade.Log)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "true", "b": "none", "c": "true", "failed": "none", "foreign": "none"}, resolved); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	notes := []string{"mixed: the results are of several models (m, other-model), and in part of another tool (1)"}
	if snap.Spent != 1.5 || !slices.Equal(snap.Notes, notes) || snap.Owner != "" {
		t.Errorf("spent %v, notes %q, owner %q; want 1.5, %q, none", snap.Spent, snap.Notes, snap.Owner, notes)
	}
	r := snap.Manifest.Request
	if r.Shard != "" || r.CostLimit != 6 || snap.Manifest.CostLimit() != 6 || len(snap.Manifest.Runs) != 3 || r.Subset != "demo" {
		t.Errorf("the manifest's request is %+v, its runs %+v", r, snap.Manifest.Runs)
	}
}

func TestOtherSelectionsBecomeTheirInstances(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	slice := func(text string) func(*manifest.Manifest) {
		return func(m *manifest.Manifest) { m.Request.Slice, m.Request.Shard, m.Dataset.Selection = text, "", text }
	}
	a, b := shard(t, filepath.Join(dir, "1"), "", slice(":1"), "a"), shard(t, filepath.Join(dir, "2"), "", slice("1:"), "b")
	out := filepath.Join(dir, "all")
	m, err := merging.Merge(merging.Config{Dirs: []string{a, b}, Output: out})
	if err != nil || len(m.Shards)+len(m.Missing) > 0 {
		t.Fatalf("%+v, %v; want no shards, no error", m, err)
	}
	got, err := manifest.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if r := got.Request; r.Slice != "" || !slices.Equal(r.Named, []string{"a", "b"}) || r.CostLimit != 12 {
		t.Errorf("the request selects %q %q, with the limit %v; want the instances a and b, 12", r.Slice, r.Named, r.CostLimit)
	}
}

func TestWhatIsNotOneRunIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	base := shard(t, filepath.Join(dir, "1"), "1/3", nil, "a")
	model := func(m *manifest.Manifest) { m.Model = "n" }
	digest := func(m *manifest.Manifest) { m.Dataset.Digest = "e" }
	config := func(m *manifest.Manifest) { m.Config = map[string]any{"agent": map[string]any{"step_limit": 6}} }
	graded := func(m *manifest.Manifest) { m.Command = "grade" }
	for name, c := range map[string]struct {
		dir, text string
	}{
		"another model":      {shard(t, filepath.Join(dir, "model"), "2/3", model, "b"), `model: "n" in ` + dir + `/model, "m" in ` + dir + "/1"},
		"another dataset":    {shard(t, filepath.Join(dir, "digest"), "2/3", digest, "b"), "dataset.digest: "},
		"another config":     {shard(t, filepath.Join(dir, "config"), "2/3", config, "b"), "agent.step_limit: 6 in "},
		"the same instance":  {shard(t, filepath.Join(dir, "same"), "2/3", nil, "b", "a"), dir + "/1 and " + dir + "/same: a"},
		"grades":             {shard(t, filepath.Join(dir, "grades"), "2/3", graded, "b"), "not made by `batch run`"},
		"nothing":            {filepath.Join(dir, "gone"), "it does not exist"},
		"no run directory":   {dir, "it has no manifest.json"},
		"OUT in a directory": {base, "which would change by it"},
	} {
		out := filepath.Join(dir, "out")
		if name == "OUT in a directory" {
			out = filepath.Join(base, "out")
		}
		_, err := merging.Merge(merging.Config{Dirs: []string{base, c.dir}, Output: out})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want a Usage fault with %q", name, err, c.text)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: %s was made", name, out)
		}
	}
	busy, err := results.Open(shard(t, filepath.Join(dir, "busy"), "2/3", nil, "b"), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, err = merging.Merge(merging.Config{Dirs: []string{base, filepath.Join(dir, "busy")}, Output: filepath.Join(dir, "out")})
	if locked, ok := errors.AsType[*results.LockedError](err); !ok || locked.Dir != filepath.Join(dir, "busy") {
		t.Errorf("got %v, want that the directory is in use", err)
	}
}

// Each failure to write leaves neither the directory nor anything beside it, and no change in the
// shards.
func TestAFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := shard(t, filepath.Join(dir, "1"), "1/2", nil, "a"), shard(t, filepath.Join(dir, "2"), "2/2", nil, "b")
	before := tree(t, dir)
	out := filepath.Join(dir, "all")
	failures := 0
	for n := 1; ; n++ {
		plan, err := inject.Parse(fmt.Sprintf("*:%d=ENOSPC", n))
		if err != nil {
			t.Fatal(err)
		}
		_, err = merging.Merge(merging.Config{Dirs: []string{one, two}, Output: out, Files: atomicfile.Files{Inject: plan}})
		if err == nil {
			break
		}
		failures++
		if !errors.Is(err, syscall.ENOSPC) || fault.KindOf(err) != fault.Host {
			t.Errorf("failure %d: got %v, want a Host fault that the disk is full", n, err)
		}
		if _, there := os.Stat(out); there == nil { // only the last sync, of the names beside it, comes later
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
			t.Fatalf("failure %d left (-before +after):\n%s", n, diff)
		}
	}
	if failures < 20 {
		t.Errorf("%d failures, want one for each write", failures)
	}
	if got := slices.Sorted(maps.Keys(tree(t, out))); !slices.Contains(got, "results.parquet") {
		t.Errorf("merged: %q", got)
	}
}

func TestWhatAKilledMergeLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := shard(t, filepath.Join(dir, "1"), "1/2", nil, "a")
	left, killedRun := filepath.Join(dir, ".all.123"), filepath.Join(dir, ".all.old")
	write(t, filepath.Join(left, ".batch-merge"), ".all.123")
	write(t, filepath.Join(killedRun, ".batch.lock"), "host h, pid 1\n")
	aside := filepath.Join(dir, ".all.aside") // a directory of a merge that was killed at its very end
	write(t, filepath.Join(aside, ".batch-merge"), ".all.789")
	working := filepath.Join(dir, ".all.456") // another merge
	write(t, filepath.Join(working, ".batch-merge"), ".all.456")
	held := flock.New(filepath.Join(working, ".batch-merge"))
	if err := held.Lock(); err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := merging.Merge(merging.Config{Dirs: []string{one}, Output: filepath.Join(dir, "all")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Errorf("%s is still there", left)
	}
	for _, folder := range []string{killedRun, working, aside} {
		if _, err := os.Stat(folder); err != nil {
			t.Errorf("%s was removed", folder)
		}
	}
}

// What a link leads to is not copied. Where the new directory would lack something, the merge is refused.
func TestAMergeFollowsNoLinks(t *testing.T) {
	t.Parallel()
	for path, refused := range map[string]bool{"a/journal.jsonl": true, "a": true, "logs": true, "batch.log": true, "a/note.txt": false} {
		dir := t.TempDir()
		one, out := shard(t, filepath.Join(dir, "1"), "1/2", nil, "a"), filepath.Join(dir, "all")
		link, away := filepath.Join(one, path), filepath.Join(dir, "away")
		err := os.Rename(link, away)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.WriteFile(away, []byte("private"), 0o600)
		}
		if err == nil {
			err = os.Symlink(away, link)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = merging.Merge(merging.Config{Dirs: []string{one}, Output: out})
		if refused != (fault.KindOf(err) == fault.Usage && strings.Contains(err.Error(), link)) || !refused && err != nil {
			t.Errorf("%s: %v, want a refusal that names it: %v", path, err, refused)
		}
		if _, err := os.Lstat(filepath.Join(out, path)); err == nil {
			t.Errorf("%s was copied", path)
		}
	}
}
