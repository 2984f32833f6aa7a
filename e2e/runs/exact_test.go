package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/mask"
	"batch.example/batch/llm/stub"
)

// exactLine is the line that the agent adds to a file: one word of it is masked in logs.
const exactLine = `ENGINE = "django.db.backends.postgresql"`

// postgres writes the line, shows the file, and submits the diff.
func postgres(step int) stub.Answer {
	switch step {
	case 0:
		return stub.Bash("echo '" + exactLine + "' >> README.md")
	case 1:
		return stub.Bash("tail -n 1 README.md; git diff > /tmp/patch.txt")
	}
	return stub.Bash("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat /tmp/patch.txt")
}

func TestMaskedTextIsExecutedSentAndSubmittedExactly(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	masking := []string{"--subset", "rows.jsonl", "--slice", ":1", "--mask", "postgres", "-c", "model.model_kwargs.num_retries=0"}
	t.Run("the provider fails", func(t *testing.T) {
		server := stub.NewServerFunc(t, func(n int, r *stub.Request) stub.Answer {
			if n == 2 {
				return stub.Refusal(503, "", "down for maintenance")
			}
			return postgres(r.Replies())
		})
		dir := t.TempDir()
		e2e.OwnRows(t, dir)
		if out, code := e2e.RunOpenAI(t, dir, server.URL, masking...); code != e2e.ExitOK {
			t.Fatalf("exit code %d, want %v\n%s", code, e2e.ExitOK, out)
		}
		checkExact(t, dir, server)
	})
	t.Run("the run and its container are killed", func(t *testing.T) {
		server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer { return postgres(r.Replies()) })
		dir := t.TempDir()
		e2e.OwnRows(t, dir)
		if out, code := e2e.RunOpenAI(t, dir, server.URL, append(masking, "--inject", "model.call:3=kill")...); code != -1 {
			t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
		}
		e2e.RemoveContainers(t, dir)
		if out, code := e2e.RunOpenAI(t, dir, server.URL, masking...); code != e2e.ExitOK {
			t.Fatalf("exit code %d, want %v\n%s", code, e2e.ExitOK, out)
		}
		checkExact(t, dir, server)
	})
}

func checkExact(t *testing.T, dir string, server *stub.Server) {
	t.Helper()
	for id, text := range e2e.Predictions(t, filepath.Join(dir, "out")) {
		file, err := os.ReadFile(filepath.Join(dir, "out", id, id+".patch"))
		if err != nil || string(file) != text || !strings.Contains(text, "\n+"+exactLine+"\n") {
			t.Errorf("error %v, the prediction is %q, the patch file %q; want both equal, with the exact line", err, text, file)
		}
		for name, exact := range map[string]bool{"journal.jsonl": true, id + ".traj.json": false, "agent.log": false} {
			path := filepath.Join(dir, "out", id, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if hidden := strings.Contains(string(data), mask.Hidden); hidden == exact || strings.Contains(string(data), "postgres") != exact {
				t.Errorf("%s: hidden %v, want %v", name, hidden, !exact)
			}
			if info, err := os.Stat(path); err != nil || exact && info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %v, %v; want mode %#o of an exact file, no error", name, info.Mode(), err, 0o600)
			}
		}
	}
	requests := server.Requests()
	last := string(requests[len(requests)-1].Body)
	if strings.Contains(last, mask.Hidden) || strings.Count(last, "backends.postgresql") < 2 {
		t.Errorf("want the exact text sent to the model, got\n%s", last)
	}
}
