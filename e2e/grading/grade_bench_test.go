package grading

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/results/grades"
)

// BenchmarkGradingOverhead measures what grading the demo costs beside the tests, by
// instance, and what the official harness adds to that: it stops its container with a grace
// period of 15 s, which tail -f /dev/null, its first process, always uses up.
func BenchmarkGradingOverhead(b *testing.B) {
	e2e.NeedDocker(b)
	dir := b.TempDir()
	var ours, stop time.Duration
	n := 0
	for i := 0; b.Loop(); i++ {
		out := fmt.Sprintf("out%d", i)
		if text, err := e2e.Batch(b, dir, "grade", "gold", "--subset", "demo", "-o", out, "-w", "1", "-q", "--no-cache").CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, text)
		}
		list, err := grades.Read(filepath.Join(dir, out))
		if err != nil {
			b.Fatal(err)
		}
		for _, g := range list {
			ours += time.Duration((g.Time.Total - g.Time.Tests) * float64(time.Second))
			n++
		}
		const script = `c=$(docker run -d --network none "$1" tail -f /dev/null) && docker stop -t 15 "$c" && docker rm -f "$c"`
		began := time.Now()
		if text, err := exec.CommandContext(b.Context(), "bash", "-c", script, "stop", e2e.DemoInstances(b)[0].ImageName("")).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, text)
		}
		stop += time.Since(began)
	}
	each := ours.Seconds() / float64(n)
	official := stop.Seconds() / float64(b.N)
	b.ReportMetric(each, "s/instance")
	b.ReportMetric(official, "s-of-container-with-15s-stop")
	b.ReportMetric(official/each, "x")
}
