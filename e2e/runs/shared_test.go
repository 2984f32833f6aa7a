package runs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
)

func TestAFaultOfAllInstancesStopsTheRunAtTheFirst(t *testing.T) {
	tier.Rest(t, "runner", "run/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	for name, args := range map[string][]string{
		"a capability that the kernel has not":   {"-c", `environment.run_args=["--cap-add=NO_SUCH"]`},
		"an observation template's rare mistake": {"-c", `model.observation_template={% if output.output == 'one\n' %}{{ output.retcode }}{% endif %}`, "-m", "scripted/one.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "one.yaml"), []byte("\"*\":\n  - bash: echo one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := e2e.Batch(t, dir, append([]string{"run", "--subset", "demo", "-m", "noop", "-o", "out", "-w", "1", "-q"}, args...)...)
			out, _ := cmd.CombinedOutput()
			text := string(out)
			if code := cmd.ProcessState.ExitCode(); code != e2e.ExitFailed {
				t.Errorf("exit code %d, want %d", code, e2e.ExitFailed)
			}
			if !strings.Contains(strings.Join(strings.Fields(text), " "), "0 of 10 instances have a result; 1 needs a correction of its configuration, script, row or image; 9 are unfinished ") || strings.Count(text, "UsageFault") != 2 || strings.Count(text, "\nbatch: ") != 1 {
				t.Errorf("want one instance that failed, and the cause once at the end:\n%s", text)
			}
		})
	}
}
