package faults

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

func TestAnAttemptAtItsTimeLimitIsAResultWithASalvage(t *testing.T) {
	tier.Rest(t, "attempt/*.go", "attempt/session", "agent/*.go", "runner")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServer(t, stub.Bash("echo a line >> README.md; sleep 1"))
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	args := []string{"--subset", "rows.jsonl", "--slice", ":1", "-c", "environment.container_timeout=5s", "--salvage"}
	out, code := e2e.RunOpenAI(t, dir, server.URL, args...)
	if code != e2e.ExitOK || !strings.Contains(out, "TimeExceeded") {
		t.Fatalf("exit code %d, want %v, %q in the output\n%s", code, e2e.ExitOK, "TimeExceeded", out)
	}
	if r := e2e.Record(t, dir); r.Outcome != vocab.OutcomeLimit || r.Steps < 1 || !r.Salvaged {
		t.Errorf("got %+v, want outcome %v, steps at least 1, salvaged true", r, vocab.OutcomeLimit)
	}
	for _, patch := range e2e.Predictions(t, filepath.Join(dir, "out")) {
		if !strings.Contains(patch, "\n+a line\n") {
			t.Errorf("the patch %q lacks the agent's change", patch)
		}
	}
	asked := len(server.Requests())
	if out, code := e2e.RunOpenAI(t, dir, server.URL, args...); code != e2e.ExitOK || len(server.Requests()) != asked {
		t.Errorf("exit code %d, %d calls more for an instance that has a result\n%s", code, len(server.Requests())-asked, out)
	}
}

func TestADeadContainerIsReplacedWithoutPayingTwice(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	server := stub.NewServerFunc(t, func(n int, r *stub.Request) stub.Answer {
		if n == 2 {
			e2e.RemoveContainers(t, dir)
		}
		return e2e.WorkAndSubmit(r)
	})
	out, code := e2e.RunOpenAI(t, dir, server.URL, "--subset", "rows.jsonl", "--slice", ":1")
	if code != e2e.ExitOK || len(server.Requests()) != 2 {
		t.Fatalf("exit code %d, %d requests for two steps\n%s", code, len(server.Requests()), out)
	}
	if r := e2e.Record(t, dir); r.Attempt != 1 || r.Resumed != 1 || r.Steps != 2 {
		t.Errorf("got %+v, want attempt 1, resumed 1, steps 2", r)
	}
	for id, patch := range e2e.Predictions(t, filepath.Join(dir, "out")) {
		file, err := os.ReadFile(filepath.Join(dir, "out", id, id+".patch"))
		if err != nil || string(file) != patch || !strings.Contains(patch, "+hello") {
			t.Errorf("%v: got %q, want file %v, %q in the patch, no error", err, patch, patch, "+hello")
		}
	}
}

// A conversation that the provider refuses in the middle, for a reason that is not
// the model's, is not paid for again from the beginning.
func TestARefusedAttemptIsResumedWithoutPayingTwice(t *testing.T) {
	tier.Rest(t, "attempt/*.go", "attempt/session", "agent/*.go", "runner")
	e2e.NeedDocker(t)
	t.Parallel()
	var refuse atomic.Bool
	refuse.Store(true)
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		if refuse.Load() && r.Replies() == 1 {
			return stub.Refusal(422, "", "unprocessable")
		}
		return e2e.WorkAndSubmit(r)
	})
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	args := []string{"--subset", "rows.jsonl", "--slice", ":1"}
	if out, code := e2e.RunOpenAI(t, dir, server.URL, args...); code != e2e.ExitIncomplete || len(server.Requests()) != 2 {
		t.Fatalf("exit code %d, %d requests; want exit code %v, 2 requests\n%s",
			code, len(server.Requests()), e2e.ExitIncomplete, out)
	}
	refuse.Store(false)
	if out, code := e2e.RunOpenAI(t, dir, server.URL, args...); code != e2e.ExitOK || len(server.Requests()) != 3 {
		t.Fatalf("exit code %d, %d requests, want one more\n%s", code, len(server.Requests()), out)
	}
	if r := e2e.Record(t, dir); r.Attempt != 1 || r.Steps != 2 {
		t.Errorf("got %+v, want attempt 1, steps 2", r)
	}
}
