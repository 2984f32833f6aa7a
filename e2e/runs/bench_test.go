package runs

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/e2e"
)

// BenchmarkHelp times `batch --help` from start to end.
// BenchmarkTrue is its lower bound.
func BenchmarkHelp(b *testing.B) {
	path := e2e.Build(b)
	for b.Loop() {
		if err := exec.Command(path, "--help").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTrue is the time that the machine needs for any process.
func BenchmarkTrue(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstAdmission times from the start of the process until the first
// instance of the 500-row Verified parquet is admitted. It needs an engine;
// no image is needed, since the instance is admitted before its pull.
func BenchmarkFirstAdmission(b *testing.B) {
	e2e.NeedDocker(b)
	rows, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data", "datasets", "SWE-bench_Verified-test.parquet"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(rows); err != nil {
		b.Skip("the Verified parquet is not in ../shared/data")
	}
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
