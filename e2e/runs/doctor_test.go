package runs

import (
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
)

func TestDoctorTriesAContainer(t *testing.T) {
	tier.Rest(t, "run/doctor", "docker", "sandbox", "cmd/batch/doctor*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	for _, tt := range []struct {
		image, says string
		code        int
	}{
		{"batch-demo/demo__slug-1:latest", "ok    try     a command in a container of batch-demo/demo__slug-1:latest works; network: none", 0},
		{"batch-demo/absent:1", "FAIL  try     ", e2e.ExitFailed},
	} {
		code, out := e2e.ExitCode(t, e2e.Batch(t, t.TempDir(), "doctor", "--try", tt.image))
		if code != tt.code || !strings.Contains(out, tt.says) || strings.Count(out, " try ") != 1 {
			t.Errorf("--try %s: exit code %d, want %d and %q once:\n%s", tt.image, code, tt.code, tt.says, out)
		}
	}
}
