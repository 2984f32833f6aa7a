package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// A provider that at first refuses everything for longer than an attempt may work, and
// later again, costs no attempt: waiting is not working.
func TestARunUnderARateLimitLosesNothing(t *testing.T) {
	tier.Rest(t, "llm", "attempt/session", "attempt/*.go", "journal", "results/*.go", "runner", "agent/*.go", "run/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	const instances, steps, wall = 6, 3, 12 // seconds: far longer than an attempt works on a busy machine
	server := stub.Start(t, &stub.Handler{
		Limits: stub.Limits{RPM: 900, Every: (wall + 3) * time.Second, Refuse: (wall + 1) * time.Second},
		Next: func(_ int, r *stub.Request) stub.Answer {
			if r.Replies() < steps-2 {
				return stub.Bash("sleep 3") // until the next refusals
			}
			a := stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat /tmp/patch.txt")
			if r.Replies() == steps-2 {
				a = stub.Bash("echo hello > hello.txt && git add -N hello.txt && git diff > /tmp/patch.txt")
			}
			return a
		},
	})
	dir := t.TempDir()
	prefix := e2e.OwnRows(t, dir)
	var rows strings.Builder
	for i := range instances {
		fmt.Fprintf(&rows, `{"instance_id":"%s%d","problem_statement":"p","image_name":"batch-demo/demo__slug-1:latest"}`+"\n", prefix, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := e2e.RunOpenAI(t, dir, server.URL, "--subset", "rows.jsonl", "-w", fmt.Sprint(instances), "-c", "model.cost_tracking=ignore_errors",
		"-c", fmt.Sprint("agent.wall_time_limit_seconds=", wall)); code != e2e.ExitOK {
		t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitOK, out)
	}
	table, err := parquet.ReadFile[results.Row](filepath.Join(dir, "out", "results.parquet"))
	if err != nil || len(table) != instances {
		t.Fatalf("%d rows, %v; want %d", len(table), err, instances)
	}
	long := 0
	for _, r := range table {
		if r.ExitStatus != string(vocab.StatusSubmitted) || r.Attempt != 1 || r.SecondsRateWait == nil {
			t.Errorf("%s: %s, attempt %d, waited %v; want %s, attempt 1, a time", r.InstanceID, r.ExitStatus, r.Attempt, r.SecondsRateWait, vocab.StatusSubmitted)
			continue
		}
		if *r.SecondsRateWait > wall {
			long++
		}
	}
	if long == 0 {
		t.Errorf("no attempt waited for longer than the %d seconds that it may work", wall)
	}
	n := server.Counts()
	t.Logf("%+v, %d of %d attempts waited over %d s", n, long, instances, wall)
	if n.Accepted != instances*steps || n.Refused == 0 {
		t.Errorf("%+v, want %d accepted requests, and refused ones", n, instances*steps)
	}
}
