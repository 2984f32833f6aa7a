package runs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
)

func TestARunOverAProviderThatMisbehaves(t *testing.T) {
	tier.Rest(t, "llm", "agent")
	e2e.NeedDocker(t)
	t.Parallel()
	var calls atomic.Int64
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		a := e2e.WorkAndSubmit(r)
		cost := 0.5
		a.Cost = &cost
		switch calls.Add(1) {
		case 1:
			a = stub.Refusal(429, "rate_limit_exceeded", "slow down, "+e2e.PlantedKey)
			a.Header = map[string]string{"Retry-After": "0"}
		case 2:
			a = stub.Refusal(500, "", "oops")
		case 3:
			a.Fault = stub.Half
		case 4:
			a.Fault = stub.Garbage
		}
		return a
	})
	dir := t.TempDir()
	out, code := e2e.RunOpenAI(t, dir, server.URL, "--slice", ":2", "-w", "1",
		"-c", `model.model_kwargs={"extra_headers":{"X-Secret":"`+e2e.PlantedKey+`"}}`)
	if code != e2e.ExitOK {
		t.Fatalf("exit code %d, want %v\n%s", code, e2e.ExitOK, out)
	}
	preds := e2e.Predictions(t, filepath.Join(dir, "out"))
	if len(preds) != 2 {
		t.Errorf("got %d predictions, want 2\n%s", len(preds), out)
	}
	for id, patch := range preds {
		if !strings.Contains(patch, "+hello\n") {
			t.Errorf("%s: patch %q, want %q in the patch", id, patch, "+hello\n")
		}
	}
	if !strings.Contains(out, "2.00") {
		t.Errorf("the output lacks the cost of four calls of 0.50 USD, 2.00:\n%s", out)
	}
	noKey(t, filepath.Join(dir, "out"), out)
}

// noKey fails when the planted key is in any file of dir or in out.
func noKey(t *testing.T, dir, out string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), e2e.PlantedKey) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil || files < 8 {
		t.Errorf("got %v, %d files looked at; want files at least 8, no error", err, files)
	}
	if strings.Contains(out, e2e.PlantedKey) {
		t.Errorf("the key is in the output:\n%s", out)
	}
}

// Nothing was paid for and nothing failed, so that no instance is one that failed.
func TestWhatNoCallOfTheRunCanPassIsSaidOnce(t *testing.T) {
	tier.Rest(t, "llm", "agent")
	e2e.NeedDocker(t)
	t.Parallel()
	for name, c := range map[string]struct {
		answer stub.Answer
		says   string
	}{
		"the key is refused":  {stub.Refusal(401, "invalid_api_key", "no such key"), "the provider refused OPENAI_API_KEY (401 unauthorized: no such key)"},
		"no credit is left":   {stub.Refusal(402, "", "pay first"), "402 payment required: pay first"},
		"there is no model":   {stub.Refusal(404, "model_not_found", "no such model"), "404 not found: no such model"},
		"no request is valid": {stub.Refusal(400, "", "stub-1 is not allowed"), "400 bad request: stub-1 is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mended atomic.Bool
			server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
				if mended.Load() {
					return e2e.WorkAndSubmit(r)
				}
				return c.answer
			})
			dir := t.TempDir()
			batch := func(args ...string) (int, string, string) {
				cmd := e2e.Batch(t, dir, args...)
				cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY="+e2e.PlantedKey)
				var lines strings.Builder
				cmd.Stderr = &lines
				out, err := cmd.Output()
				if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
					t.Fatal(err)
				}
				return cmd.ProcessState.ExitCode(), string(out), lines.String()
			}
			code, out, lines := batch("run", "--subset", "demo", "-m", "openai/stub-1", "-o", "out", "--slice", ":3", "-w", "2")
			ends, _, _ := strings.Cut(lines, "\nbatch: ")
			if code != e2e.ExitFailed || strings.Count(ends, c.says) != 1 || strings.Count(lines, c.says) != 2 || !strings.Contains(lines, "\n  then `batch resume out` continues\n") {
				t.Errorf("exit code %d, want %d, %q once while the run works and once at its end, and how it continues\n%s", code, e2e.ExitFailed, c.says, lines)
			}
			_, status, _ := batch("status", "out")
			for _, text := range []string{out, status} {
				words := strings.Join(strings.Fields(text), " ")
				if strings.Count(words, c.says) != 1 || !strings.Contains(words, "0 of 3 instances have a result; 3 are unfinished") {
					t.Errorf("got %s\nwant %q once, and 3 unfinished instances", text, c.says)
				}
				for _, bad := range []string{"HostFault", "infrastructure", "will be retried"} {
					if strings.Contains(text+lines, bad) {
						t.Errorf("%q in\n%s%s", bad, text, lines)
					}
				}
			}
			mended.Store(true)
			if code, out, lines = batch("resume", "out"); code != e2e.ExitOK || !strings.Contains(out, "3 of 3 instances have a result") {
				t.Errorf("exit code %d when the run continues, want %d and 3 results\n%s%s", code, e2e.ExitOK, out, lines)
			}
		})
	}
}

func TestAConfigOfTextActionsAsksWithoutTools(t *testing.T) {
	tier.Rest(t, "llm", "agent")
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		if len(r.Tools) != 0 {
			t.Error("tools are offered to a text agent")
		}
		return stub.Text("done\n\n```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```")
	})
	dir := t.TempDir()
	out, code := e2e.RunOpenAI(t, dir, server.URL, "--slice", ":1", "-c", "model.model_class=litellm_textbased")
	if code != e2e.ExitOK {
		t.Fatalf("exit code %d, want %v\n%s", code, e2e.ExitOK, out)
	}
	traj := readTrajectory(t, filepath.Join(dir, "out"))
	if traj.Info.ExitStatus != "Submitted" || traj.Info.ModelStats.Calls != 1 {
		t.Errorf("got %+v, want exit status %q, calls 1", traj.Info, "Submitted")
	}
}

func readTrajectory(t *testing.T, dir string) results.Trajectory {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "*.traj.json"))
	if len(paths) != 1 {
		t.Fatalf("got %d trajectories, want 1 path", len(paths))
	}
	var traj results.Trajectory
	e2e.ReadJSON(t, paths[0], &traj)
	return traj
}
