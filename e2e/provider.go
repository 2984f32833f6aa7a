package e2e

import (
	"testing"

	"batch.example/batch/llm/stub"
)

// PlantedKey must be in no file that a run writes.
const PlantedKey = "sk-planted-0123456789abcdef"

// RunOpenAI runs the demo's first instances against a stand-in provider.
func RunOpenAI(t *testing.T, dir, url string, args ...string) (string, int) {
	t.Helper()
	cmd := Batch(t, dir, append([]string{
		"run", "--subset", "demo", "-m", "openai/stub-1", "-o", "out", "-q",
	}, args...)...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+url, "OPENAI_API_KEY="+PlantedKey)
	code, out := ExitCode(t, cmd)
	return out, code
}

// WorkAndSubmit edits a file, then submits the diff.
func WorkAndSubmit(r *stub.Request) stub.Answer {
	if r.Replies() == 0 {
		return stub.Bash("echo hello > hello.txt && git add -N hello.txt && git diff > /tmp/patch.txt")
	}
	return stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat /tmp/patch.txt")
}
