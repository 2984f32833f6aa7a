package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"batch.example/batch/llm/llmtest"
)

var raceEnabled bool

// TestMemoryDoesNotGrowWithOutputs lets two instances print 60 times 10 MB each,
// kills the run in the middle, and resumes it.
func TestMemoryDoesNotGrowWithOutputs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the peak of a process's memory as Linux reports it")
	}
	needDocker(t)
	t.Parallel()
	outputs := 60
	if testing.Short() {
		outputs = 12
	}
	server := llmtest.NewServerFunc(t, func(_ int, r *llmtest.Request) llmtest.Answer {
		if r.Replies() < outputs {
			return llmtest.Bash("head -c 10000000 /dev/zero | tr '\\0' x")
		}
		return llmtest.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
	})
	dir := t.TempDir()
	ownRows(t, dir)
	run := func(args ...string) (string, int) {
		cmd := batch(t.Context(), dir, append([]string{
			"run", "--subset", "rows.jsonl", "--slice", ":2", "-w", "2", "-m", "openai/stub-1", "-o", "out", "-q",
		}, args...)...)
		cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY="+plantedKey)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		peak := make(chan int)
		go func() { peak <- peakMemory(cmd.Process.Pid) }()
		_ = cmd.Wait()
		if mib := <-peak; mib > 150 && !raceEnabled {
			t.Errorf("a peak of %d MiB, want at most 150", mib)
		} else {
			t.Logf("a peak of %d MiB", mib)
		}
		return out.String(), cmd.ProcessState.ExitCode()
	}
	run("--inject", "model.call:"+map[bool]string{true: "20", false: "90"}[testing.Short()]+"=kill")
	if out, code := run(); code != exitOK || !strings.Contains(out, "Submitted (empty)") {
		t.Errorf("exit code %d, want %v, %q in the output\n%s", code, exitOK, "Submitted (empty)", out)
	}
}

// peakMemory watches a process until it has ended and returns the most memory
// that it used, in MiB. What wait reports includes the memory of this test process
// before the exec.
func peakMemory(pid int) (mib int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, line, found := strings.Cut(string(status), "VmHWM:")
		if err != nil || !found { // ended
			return mib
		}
		var kib int
		if _, err := fmt.Sscan(line, &kib); err == nil {
			mib = max(mib, kib>>10)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
