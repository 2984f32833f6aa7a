package runs

import (
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
)

// What the shell prints before each output is taken off, also in the container of a run that
// was killed.
func TestAShellThatPrintsDoesNotHideASubmission(t *testing.T) {
	tier.Rest(t, "internal/box", "internal/bash", "sandbox/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer { return postgres(r.Replies()) })
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	args := []string{"--subset", "rows.jsonl", "--slice", ":1", "-c", "environment.env.LC_ALL=xx_YY.UTF-8"}
	if out, code := e2e.RunOpenAI(t, dir, server.URL, append(args, "--inject", "model.call:3=kill")...); code != -1 {
		t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
	}
	if out, code := e2e.RunOpenAI(t, dir, server.URL, args...); code != e2e.ExitOK {
		t.Fatalf("exit code %d, want %v\n%s", code, e2e.ExitOK, out)
	}
	for id, text := range e2e.Predictions(t, filepath.Join(dir, "out")) {
		if !strings.Contains(text, "\n+"+exactLine+"\n") {
			t.Errorf("%s: prediction %q, want the line", id, text)
		}
	}
	for _, r := range server.Requests() {
		if strings.Contains(string(r.Body), "cannot change locale") {
			t.Errorf("the model saw what the shell prints: %s", r.Body)
		}
	}
}

// Where no submission could be recognized, no call is paid.
func TestAShellThatHidesSubmissionsIsFoundBeforeTheFirstCall(t *testing.T) {
	tier.Rest(t, "internal/box", "internal/bash", "sandbox/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer { return postgres(r.Replies()) })
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	out, code := e2e.RunOpenAI(t, dir, server.URL, "--subset", "rows.jsonl", "--slice", ":1", "-c", "environment.env.SHELLOPTS=xtrace")
	if code != e2e.ExitIncomplete || !strings.Contains(out, "no submission could be recognized") || !strings.Contains(out, "+ echo batch-shell") || len(server.Requests()) > 0 {
		t.Errorf("exit code %d, %d requests, output %s; want 3, no request, and what the shell prints", code, len(server.Requests()), out)
	}
}
