package grading

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// placed are demo instances. The image of each is on an engine of its own.
type placed struct {
	dir   string            // rows.jsonl has the instances
	named []string          // the flags that name the engines
	at    map[string]string // the address of its engine, by instance
}

func placeOnEngines(t *testing.T, n int) placed {
	t.Helper()
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	e2e.NeedDocker(t)
	t.Parallel()
	p := placed{dir: t.TempDir(), at: map[string]string{}}
	var rows strings.Builder
	for _, in := range e2e.DemoInstances(t)[:n] {
		line, err := json.Marshal(in.Fields)
		if err != nil {
			t.Fatal(err)
		}
		rows.Write(append(line, '\n'))
		d := enginetest.Start(t)
		load := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", `docker save "$1" | docker -H "$2" load`, "load", in.ImageName(""), d.Host())
		if out, err := load.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		p.named, p.at[in.ID] = append(p.named, "--engine", d.Host()), d.Host()
	}
	if err := os.WriteFile(filepath.Join(p.dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs batch in the folder of the instances.
func (p placed) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := e2e.Batch(t, p.dir, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, out)
	}
}

// Each of two engines has the image of one instance, and batch never pulls such an image: a sweep
// with --grade, and batch grade, work only if agents and tests run where the image is.
func TestAgentsAndTestsRunWhereTheImageIs(t *testing.T) {
	tier.Rest(t, "run/engines", "sandbox/*.go", "run/rundir", "run/grading")
	p := placeOnEngines(t, 2)
	for _, args := range [][]string{
		{"sweep", "--grade", "--subset", "rows.jsonl", "-m", "oracle", "-w", "2", "-o", "swept"},
		{"grade", "gold", "--subset", "rows.jsonl", "-w", "2", "-o", "gold", "--no-cache"},
	} {
		p.run(t, append(args, p.named...)...)
	}
	for _, out := range []string{"swept/oracle@1", "gold"} {
		snap, err := results.Read(filepath.Join(p.dir, out))
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Records) != 2 {
			t.Errorf("%s has %d records, want 2", out, len(snap.Records))
		}
		for id, r := range results.Latest(snap.Records) {
			if r.Grade == nil || r.Grade.Verdict != vocab.VerdictResolved || r.Grade.Engine != p.at[id] {
				t.Errorf("%s: %s has the grade %+v, want resolved on %s", out, id, r.Grade, p.at[id])
			}
			if out != "gold" && r.Engine != p.at[id] {
				t.Errorf("%s ran on %q, want %q", id, r.Engine, p.at[id])
			}
		}
		said, err := e2e.Batch(t, p.dir, "status", out).CombinedOutput()
		if err != nil || !strings.Contains(string(said), "graded on: ") {
			t.Errorf("batch status %s does not say where it was graded: %v\n%s", out, err, said)
		}
	}
}
