package faults

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// An unfinished attempt must not be continued with another model, prompt, limit,
// environment or row: its result would be recorded for settings that made
// only a part of it.
func TestAnUnfinishedAttemptIsNotResumedUnderOtherSettings(t *testing.T) {
	tier.Rest(t, "attempt/*.go", "attempt/session", "run/*.go", "results/*.go", "results/manifest", "agent/config")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer { return e2e.WorkAndSubmit(r) })
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	rows, err := os.ReadFile(filepath.Join(dir, "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(rows), `"problem_statement":"p"`, `"problem_statement":"another"`, 1)
	if err := os.WriteFile(filepath.Join(dir, "other.jsonl"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		return e2e.RunOpenAI(t, dir, server.URL, append([]string{"--subset", "rows.jsonl", "--slice", ":1", "-w", "1"}, args...)...)
	}
	if out, code := run("--inject", "model.call:2=kill"); code != -1 {
		t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
	}
	for name, args := range map[string][]string{
		"model":                     {"-m", "openai/stub-2"},
		"agent.system_template":     {"-c", "agent.system_template=You are another."},
		"agent.step_limit":          {"-c", "agent.step_limit=9"},
		"model.model_kwargs":        {"-c", "model.model_kwargs.temperature=1"},
		"environment.memory":        {"--memory", "2g"},
		"environment.disk":          {"--disk", "20GiB"},
		"environment.run_args":      {"-c", `environment.run_args=["--pids-limit=77"]`},
		"row":                       {"--subset", "other.jsonl"},
		"salvage":                   {"--salvage"},
		"run.env_startup_command":   {"-c", "run.env_startup_command=echo hi"},
		"model.action_form":         {"-c", "text"},
		"environment.keep_git_hist": {"--keep-git-history"},
		"environment.allow_commit":  {"--allow-commit-mismatch"},
	} {
		out, code := run(args...)
		if code != e2e.ExitUsage || !strings.Contains(out, name) || !strings.Contains(out, "unfinished attempts") {
			t.Errorf("%s: exit code %d, want %d\n%s", name, code, e2e.ExitUsage, out)
		}
	}
	if n := len(server.Requests()); n != 1 {
		t.Fatalf("%d requests: refused runs asked the model", n)
	}
	// An instance whose changes are accepted starts from the beginning, with the new settings.
	out, code := run("-m", "openai/stub-2", "--accept-changes=model")
	if code != e2e.ExitOK || !strings.Contains(out, "1 unfinished instance starts from the beginning") {
		t.Fatalf("exit code %d, want %v, %q in the output\n%s",
			code, e2e.ExitOK, "1 unfinished instance starts from the beginning", out)
	}
	requests := server.Requests()[1:]
	if len(requests) != 2 || requests[0].Replies() != 0 || requests[0].Model != "stub-2" {
		t.Errorf("%d requests, the first to model %s with %d replies; want a new conversation", len(requests), requests[0].Model, requests[0].Replies())
	}
}

func TestAnUnfinishedAttemptStartsFreshOnRequest(t *testing.T) {
	tier.Rest(t, "attempt/*.go", "attempt/session", "run/*.go", "results/*.go", "results/manifest", "agent/config")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer { return e2e.WorkAndSubmit(r) })
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	if out, code := e2e.RunOpenAI(t, dir, server.URL, "--subset", "rows.jsonl", "--slice", ":1", "--inject", "model.call:2=kill"); code != -1 {
		t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
	}
	cmd := e2e.Batch(t, dir, "retry", "out", "--outcome", "pending", "--fresh", "-q")
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY="+e2e.PlantedKey)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if requests := server.Requests(); len(requests) != 3 || requests[1].Replies() != 0 {
		t.Errorf("%d requests, want one before the kill and two from the beginning", len(requests))
	}
	if r := e2e.Record(t, dir); r.Attempt != 2 || r.Outcome != vocab.OutcomeSubmitted {
		t.Errorf("got %+v, want attempt 2, outcome %v", r, vocab.OutcomeSubmitted)
	}
}
