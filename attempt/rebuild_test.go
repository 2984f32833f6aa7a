package attempt_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
	"batch.example/batch/vocab"
)

// notDerived are the files of a run directory that do not follow from the journals: the
// lock, and the logs.
var notDerived = []string{".batch.lock", "agent.log"}

// derivedFiles are all other files below dir.
func derivedFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || slices.Contains(notDerived, d.Name()) {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A worker elsewhere ships its journals, and the same files are made from them.
func TestAllFilesCanBeRebuiltFromTheJournals(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	store, err := results.Open(dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	endless := slices.Repeat([]scripted.Reply{{Bash: "printf 'th\\351\\n' > f.txt", Cost: 0.25}}, 20)
	gold := func(change string) *host {
		box := repo(t, map[string]string{"f.txt": latin1})
		box.write(t, "f.txt", change)
		return box
	}
	stopping, stop := context.WithCancel(ctx)
	for id, c := range map[string]struct {
		box     *host
		model   llm.Model // nil: the oracle with the box's diff
		salvage bool
		ctx     context.Context
		crash   bool
	}{
		"submitted__1":   {box: gold("plain text\n")},
		"latin__1":       {box: gold("th\xe9 au lait\n")},
		"empty__1":       {box: gold("x\n"), model: scripted.Noop(scripted.Config{})},
		"salvaged__1":    {box: gold("x\n"), model: scripted.Script{"*": endless}.Model("a", scripted.Config{}), salvage: true},
		"limit__1":       {box: gold("x\n"), model: scripted.Script{"*": endless}.Model("a", scripted.Config{})},
		"failed__1":      {box: gold("x\n"), model: &refusing{scripted.Script{"*": endless}.Model("a", scripted.Config{}), 1, fault.Newf(fault.Host, "the account is empty")}},
		"broken__1":      {box: gold("x\n"), model: &refusing{scripted.Noop(scripted.Config{}), 0, fault.Newf(fault.Instance, "asked badly")}},
		"interrupted__1": {box: gold("x\n"), model: stops{stop}, ctx: stopping},
		"crashed__1":     {box: gold("x\n"), model: &refusing{scripted.Script{"*": endless}.Model("a", scripted.Config{}), 2, fault.Newf(fault.Transient, "gone")}, crash: true},
	} {
		in := dataset.Instance{ID: id}
		if c.model == nil {
			c.model = scripted.Oracle([]byte(c.box.diff(t)), scripted.Config{})
		}
		if c.ctx == nil {
			c.ctx = ctx
		}
		s := attempt.New(attempt.Config{
			Loop: newLoop(t, 5), ModelName: "test/é", Sandboxes: hosts{box: c.box}, Store: store, Salvage: c.salvage,
			Models: func(dataset.Instance, int) (llm.Model, error) { return c.model, nil },
			Settings: func(dataset.Instance) manifest.Settings {
				return manifest.Settings{Version: "1.2", Prompts: "their source", Config: map[string]any{"agent": map[string]any{"step_limit": 5, "cost_limit": 3.0}}}
			},
		})
		result, err := s.Do(c.ctx, attempt.Attempt{
			Job: in, Number: 1, Report: func(vocab.Event) {}, Reserve: runner.NewBudget(0, 0, 0).Reserve, Keep: closes, Kept: nothing,
		})
		if c.crash { // no process records the end
			continue
		}
		if _, err := s.Save(ctx, in, result, err); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	want := derivedFiles(t, dir)

	copied := t.TempDir()
	for name, text := range want {
		if filepath.Base(name) == "journal.jsonl" {
			path := filepath.Join(copied, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if store, err = results.Open(copied, results.Options{}); err == nil {
		err = store.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, derivedFiles(t, copied)); diff != "" {
		t.Errorf("derivedFiles (-want +got):\n%s", diff)
	}
	for name, part := range map[string]string{
		"latin__1/latin__1.traj.json": `GIT binary patch`, "salvaged__1/salvaged__1.traj.json": `"salvaged": true`,
		"failed__1/failed__1.traj.json": "HostFault", "interrupted__1/interrupted__1.traj.json": `"exit_status": "Interrupted"`,
		"crashed__1/crashed__1.traj.json": `"prompts": "their source"`, "salvaged__1/salvaged__1.salvaged.patch": "th\xe9",
		"empty__1/empty__1.traj.json": `"outcome": "empty"`, "broken__1/broken__1.traj.json": "InstanceFault",
	} {
		if !strings.Contains(want[name], part) {
			t.Errorf("%s lacks %q: %s", name, part, want[name])
		}
	}
	if text := fmt.Sprint(want["preds.json"]); !strings.Contains(text, "latin__1") || strings.Contains(text, "failed__1") {
		t.Errorf("preds.json: %s, want %q, no %q", text, "latin__1", "failed__1")
	}
}

// stops cancels its run as soon as it is called.
type stops struct{ stop func() }

func (s stops) Generate(ctx context.Context, _ *llm.Request) (*llm.Response, error) {
	s.stop()
	return nil, ctx.Err()
}
