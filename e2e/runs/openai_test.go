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
)

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
