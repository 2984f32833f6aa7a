package grading

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/internal/tier"
)

// A dockerd that is killed while predictions are tested costs none of them its verdict, and
// none is graded twice.
func TestGradingSurvivesARestartOfItsEngine(t *testing.T) {
	tier.Rest(t, "run/grading", "sandbox/*.go", "docker/*.go")
	if os.Getenv("BATCH_DOCKER") == "" {
		t.Skip("BATCH_DOCKER is not set")
	}
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	in := e2e.DemoInstances(t)[0]
	const n = 6 // each container is a whole copy of its image: the engine has no overlay
	var rows strings.Builder
	for i := range n {
		row := maps.Clone(in.Fields)
		row["instance_id"] = fmt.Sprintf("outage__grade-%d", i)
		row["eval_script"] = strings.Replace(in.EvalScript, "Start Test Output'\n", "Start Test Output'\nsleep 1\n", 1)
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		rows.Write(append(line, '\n'))
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	d := enginetest.Start(t, "--live-restore=false")
	load := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", `docker save "$1" | docker -H "$2" load`, "load", in.ImageName(""), d.Host())
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cmd := e2e.BatchContext(t, ctx, dir, "grade", "gold", "--subset", "rows.jsonl", "-o", "out", "-w", "3", "-q", "--no-cache")
	cmd.Env = append(cmd.Env, "DOCKER_HOST="+d.Host())
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	e2e.AwaitGrades(t, out, 2)
	d.Kill(syscall.SIGKILL)
	d.Restart()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, &said)
	}
	e2e.GradedOnce(t, out, n)
	for id, v := range e2e.Verdicts(t, out) {
		if v != "resolved" {
			t.Errorf("%s: %s, want resolved", id, v)
		}
	}
}
