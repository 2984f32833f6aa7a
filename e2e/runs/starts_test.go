package runs

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/journal"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// Before main, the packages of batch allocate little: what they need is made when it is first
// used. They took 3.5 MB when they compiled their regular expressions.
func TestAStartMakesOnlyWhatItNeeds(t *testing.T) {
	tier.Rest(t, "cmd/batch", "internal/lazy")
	const most = 250_000 // bytes; 157,000 in November 2026
	cmd := e2e.Batch(t, t.TempDir(), "--help")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	_, out := e2e.ExitCode(t, cmd)
	packages, all := 0, 0
	var by []string
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		var name string
		var at, clock float64
		var size int
		if _, err := fmt.Sscanf(lines.Text(), "init %s @%f ms, %f ms clock, %d bytes,", &name, &at, &clock, &size); err != nil {
			continue
		}
		if packages++; strings.HasPrefix(name, "batch.example/batch") {
			all += size
			by = append(by, fmt.Sprintf("%8d %s", size, name))
		}
	}
	slices.Sort(by)
	if packages < 100 || all > most {
		t.Errorf("%d bytes before main, want at most %d, and %d packages, want over 100:\n%s", all, most, packages, strings.Join(by, "\n"))
	}
}

// BenchmarkHelp is `batch --help` from start to end. Like the other benchmarks of this file,
// it reports how many times as long as `true` the command takes.
func BenchmarkHelp(b *testing.B) { benchmarkStart(b, "--help") }

// BenchmarkDryRun plans a run of the 500 rows of Verified. An engine, if there is one, says
// which images it has.
func BenchmarkDryRun(b *testing.B) {
	b.Setenv("ANTHROPIC_API_KEY", "not used")
	benchmarkStart(b, "run", "--dry-run", "--subset", verified(b), "-m", "anthropic/claude-sonnet-4-5", "-o", filepath.Join(b.TempDir(), "out"))
}

// BenchmarkStatus shows a directory of 500 instances that ended after 30 steps.
func BenchmarkStatus(b *testing.B) { benchmarkStart(b, "status", finished(b, 500, 30)) }

// BenchmarkReport compares two such directories, as every report of them after the first one.
func BenchmarkReport(b *testing.B) {
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	args := []string{"report", finished(b, 500, 30), finished(b, 500, 30), "-o", filepath.Join(b.TempDir(), "report.html")}
	if out, err := exec.Command(e2e.Build(b), args...).CombinedOutput(); err != nil {
		b.Fatal(err, string(out))
	}
	benchmarkStart(b, args...)
}

func benchmarkStart(b *testing.B, args ...string) {
	path := e2e.Build(b)
	var ours, least, cpu []time.Duration
	for b.Loop() {
		wall, used := timed(b, exec.Command(path, args...))
		ours, cpu = append(ours, wall), append(cpu, used)
		b.StopTimer()
		wall, _ = timed(b, exec.Command("true"))
		least = append(least, wall)
		b.StartTimer()
	}
	b.ReportMetric(float64(median(ours))/float64(median(least)), "x-true")
	b.ReportMetric(median(cpu).Seconds()*1000, "cpu-ms")
}

func timed(b *testing.B, cmd *exec.Cmd) (wall, cpu time.Duration) {
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatal(err, string(out))
	}
	return time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

func median(list []time.Duration) time.Duration {
	slices.SortFunc(list, cmp.Compare[time.Duration])
	return list[len(list)/2]
}

// verified is the file of Verified's rows. Without it, the benchmark is skipped.
func verified(b *testing.B) string {
	path, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data", "datasets", "SWE-bench_Verified-test.parquet"))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		b.Skip("the Verified parquet is not in ../shared/data")
	}
	return path
}

// finished is a run directory whose instances have all ended.
func finished(b *testing.B, instances, steps int) string {
	dir := b.TempDir()
	s, err := results.Open(dir, results.Options{Durability: journal.Process})
	if err != nil {
		b.Fatal(err)
	}
	patch := strings.Repeat("+ a line of a patch\n", 75)
	said := journal.MessagesData{Messages: []json.RawMessage{fmt.Appendf(nil, "%q", strings.Repeat("some text ", 1000))}}
	for i := range instances {
		id := fmt.Sprintf("team__thing-%d", i)
		a, err := s.Begin(id, manifest.Settings{})
		if err != nil {
			b.Fatal(err)
		}
		for range steps {
			err = cmp.Or(err, a.Journal().Append(journal.TypeMessages, said))
		}
		_, put := s.Put(b.Context(), &results.Result{
			Record:     results.Record{InstanceID: id, Status: vocab.StatusSubmitted, Outcome: vocab.OutcomeSubmitted, Model: "m", Steps: steps},
			Submission: []byte(patch), Prediction: patch,
		})
		if err := cmp.Or(err, put); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}
