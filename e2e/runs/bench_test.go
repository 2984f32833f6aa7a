package runs

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/e2e"
)

// BenchmarkFirstAdmission times from the start of the process until the first
// instance of the 500-row Verified parquet is admitted. It needs an engine;
// no image is needed, since the instance is admitted before its pull.
func BenchmarkFirstAdmission(b *testing.B) {
	e2e.NeedDocker(b)
	rows := verified(b)
	path := e2e.Build(b)
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		cmd := exec.Command(path, "run", "--subset", rows, "-m", "noop", "-o", dir, "--json", "-w", "1")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		lines := bufio.NewScanner(stdout)
		for lines.Scan() && !strings.Contains(lines.Text(), `"instance_start"`) {
		}
		b.StopTimer()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		for lines.Scan() {
		}
		_ = cmd.Wait()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(time.Millisecond), "ms/first-instance")
}
