package faults

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// cherryPick does correct work that depends on something only the container has: the
// hash of a commit, which is different whenever the commit is made again.
func cherryPick(r *stub.Request) stub.Answer {
	switch r.Replies() {
	case 0:
		return stub.Bash("git checkout -qb work && echo 'a line' >> README.md && git -c user.name=a -c user.email=a@b commit -qam work && sleep 1 && git rev-parse HEAD")
	case 1:
		return stub.Bash("git checkout -q - && git -c user.name=a -c user.email=a@b cherry-pick " + strings.TrimSpace(lastOutput(r)) + " && git diff HEAD~1 > /tmp/patch.txt")
	}
	return stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat /tmp/patch.txt || true")
}

// lastOutput is the observation of the last command.
func lastOutput(r *stub.Request) string {
	var text string
	_ = json.Unmarshal(r.Messages[len(r.Messages)-1].Content, &text)
	_, text, _ = strings.Cut(text, "<output>\n")
	text, _, _ = strings.Cut(text, "</output>")
	return text
}

func cherryRun(t *testing.T) (dir string, args []string) {
	t.Helper()
	dir = t.TempDir()
	e2e.OwnRows(t, dir)
	return dir, []string{"--subset", "rows.jsonl", "--slice", ":1", "-w", "1", "-c", "model.model_kwargs.num_retries=0"}
}

func TestAnAttemptWhoseReplayDiffersIsKeptApartOnRequest(t *testing.T) {
	tier.Rest(t, "attempt/*.go", "attempt/session", "agent/*.go", "journal", "results/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer { return cherryPick(r) })
	dir, args := cherryRun(t)
	if out, code := e2e.RunOpenAI(t, dir, server.URL, append(slices.Clone(args), "--inject", "model.call:2=kill")...); code != -1 {
		t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
	}
	e2e.RemoveContainers(t, dir)
	out, code := e2e.RunOpenAI(t, dir, server.URL, append(args, "--retry", "diverged=0")...)
	if code != e2e.ExitIncomplete || !strings.Contains(out, string(vocab.StatusReplayDiverged)) {
		t.Errorf("exit code %d, want %v, %q in the output\n%s", code, e2e.ExitIncomplete, string(vocab.StatusReplayDiverged), out)
	}
	if r := e2e.Record(t, dir); r.Outcome != vocab.OutcomeDiverged || r.Attempt != 1 || r.Differences != 1 {
		t.Errorf("got %+v, want outcome %v, attempt 1, differences 1", r, vocab.OutcomeDiverged)
	}
	if p := e2e.Predictions(t, filepath.Join(dir, "out")); len(p) != 0 {
		t.Errorf("it became a prediction: %q, want no predictions", p)
	}
	// Divergence is not a result: the next run makes one, from the beginning.
	if out, code := e2e.RunOpenAI(t, dir, server.URL, args...); code != e2e.ExitOK {
		t.Errorf("exit code %d, want %v\n%s", code, e2e.ExitOK, out)
	}
	patches := e2e.Predictions(t, filepath.Join(dir, "out"))
	if len(patches) != 1 {
		t.Errorf("got %d predictions, want 1 patch", len(patches))
	}
	for _, patch := range patches {
		if !strings.Contains(patch, "\n+a line\n") {
			t.Errorf("the patch is %q, want %q in the patch", patch, "\n+a line\n")
		}
	}
	if r := e2e.Record(t, dir); r.Attempt != 2 || r.Resumed != 0 {
		t.Errorf("got %+v, want attempt 2, resumed 0", r)
	}
	if n := len(server.Requests()); n != 1+2+3 {
		t.Errorf("%d requests, want one before the kill, two of the attempt that is kept apart, and three of the second one", n)
	}
}
