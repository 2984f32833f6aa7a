//go:build !race

package runs

import (
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
)

// TestMemoryDoesNotGrowWithOutputs lets two instances print 60 times 10 MB each,
// kills the run in the middle, and resumes it.
func TestMemoryDoesNotGrowWithOutputs(t *testing.T) {
	tier.Rest(t, "agent/*.go", "attempt/session", "attempt/*.go", "journal", "results/*.go", "llm/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	outputs := 60
	if testing.Short() {
		outputs = 12
	}
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		if r.Replies() < outputs {
			return stub.Bash("head -c 10000000 /dev/zero | tr '\\0' x")
		}
		return stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
	})
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	program := e2e.Build(t)
	run := func(args ...string) (string, int) {
		cmd := e2e.Batch(t, dir, append([]string{
			"run", "--subset", "rows.jsonl", "--slice", ":2", "-w", "2", "-m", "openai/stub-1", "-o", "out", "-q",
		}, args...)...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY="+e2e.PlantedKey)
		cmd.Path = program // the race detector multiplies the memory that it needs
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		peak := make(chan int)
		go func() { peak <- e2e.PeakMemory(cmd.Process.Pid) }()
		_ = cmd.Wait()
		if mib := <-peak; mib > 150 {
			t.Errorf("a peak of %d MiB, want at most 150", mib)
		} else {
			t.Logf("a peak of %d MiB", mib)
		}
		return out.String(), cmd.ProcessState.ExitCode()
	}
	if out, code := run("--inject", "model.call:"+map[bool]string{true: "20", false: "90"}[testing.Short()]+"=kill"); code != -1 {
		t.Fatalf("exit code %d, want a kill in the middle\n%s", code, out)
	}
	if out, code := run(); code != e2e.ExitOK || !strings.Contains(out, "Submitted (empty)") {
		t.Errorf("exit code %d, want %v, %q in the output\n%s", code, e2e.ExitOK, "Submitted (empty)", out)
	}
}
