package runs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"batch.example/batch/docker/containers"
	"batch.example/batch/e2e"
	"batch.example/batch/sandbox/engine"
)

// history makes in /testbed a repository of 60,000 commits and checks out the one 5,000
// before the last.
const history = `mkdir -p /testbed && cd /testbed && rm -rf .git && git init -q -b main && python3 - <<'END' | git -c fastimport.unpackLimit=0 fast-import --quiet --depth=50 &&
import random
random.seed(7)
for i in range(1, 60001):
    f = random.randrange(400)
    text = f"{i} {random.random()}\n" + "".join(f"line {j} of file {f} {(j * 7 + f) % 13}\n" for j in range(20))
    print(f"commit refs/heads/main\nmark :{i}\ncommitter a <a@localhost> {1000000000 + i * 600} +0000\ndata 6\nchange")
    print(f"M 100644 inline d{f % 20}/e{f % 5}/f{f}.py\ndata {len(text)}\n{text}")
    if i % 500 == 0:
        print(f"reset refs/tags/v{i // 500}\nfrom :{i}\n")
END
git reset -q --hard main~5000 && git rev-parse HEAD`

const historyImage = "batch-test/history:1"

// each returns the name of the image of one of the instances that have one of their own.
func each(i int) string { return fmt.Sprintf("batch-test/history-%d:1", i) }

const eachOf = 4

// makeHistory makes the image, and returns the commit that it is at.
func makeHistory(b *testing.B) string {
	b.Helper()
	e := e2e.Connect(b)
	c, err := e.Create(b.Context(), engine.Spec{Image: "batch-demo/base:latest", Unattended: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := c.Remove(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	r, err := c.Run(b.Context(), containers.Command{Script: history, Timeout: 10 * time.Minute})
	if err == nil && r.ExitCode == 0 {
		err = exec.Command("docker", "commit", c.ID(), historyImage).Run()
	}
	if err != nil || r.ExitCode != 0 {
		b.Fatalf("got %+v, %v; want exit code 0, no error", r, err)
	}
	names := []string{historyImage}
	for i := range eachOf {
		if err := exec.Command("docker", "tag", historyImage, each(i)).Run(); err != nil {
			b.Fatal(err)
		}
		names = append(names, each(i))
	}
	b.Cleanup(func() {
		for _, name := range slices.Backward(names) {
			if err := e.RemoveImage(context.Background(), name); err != nil {
				b.Error(err)
			}
		}
	})
	return strings.TrimSpace(string(r.Bytes))
}

// BenchmarkHistorySweep runs 32 instances of 11 steps, all at once and with a model that
// takes 1 s, on one image of 60,000 commits: with the history kept; scrubbed, on a
// new image; and scrubbed, on an image that was used before. It reports how much longer the
// last two take than the first, as medians of all rounds, which alternate. It does the same
// with 4 instances that have an image each, so that none can use the scrub of another.
func BenchmarkHistorySweep(b *testing.B) {
	e2e.NeedDocker(b)
	dir, path, base := b.TempDir(), e2e.Build(b), makeHistory(b)
	var rows, eachRows, replies strings.Builder
	row := func(to *strings.Builder, i int, image string) {
		fmt.Fprintf(to, `{"instance_id": "bench__history-%d", "image_name": %q, "base_commit": %q, "problem_statement": "x"}`+"\n", i, image, base)
	}
	for i := range 32 {
		row(&rows, i, historyImage)
	}
	for i := range eachOf {
		row(&eachRows, i, each(i))
	}
	replies.WriteString("'*':\n")
	for range 10 {
		replies.WriteString("- {content: step, bash: 'ls | head -3', delay: 1}\n")
	}
	replies.WriteString("- {content: done, bash: 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT', delay: 1}\n")
	for name, text := range map[string]string{"rows.jsonl": rows.String(), "each.jsonl": eachRows.String(), "script.yaml": replies.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	batch := func(args ...string) time.Duration {
		cmd := exec.Command(path, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return time.Since(began)
	}
	took := map[string][]time.Duration{}
	round := 0
	sweep := func(kind, rows string, more ...string) {
		round++
		took[kind] = append(took[kind], batch(append([]string{
			"run", "--subset", rows, "-m", "scripted/script.yaml", "-w", "32", "-q", "-o", fmt.Sprint("out", round),
		}, more...)...))
	}
	forget := func() { // the histories that stay after a run too
		batch("clean")
		if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		forget()
		sweep("kept", "rows.jsonl", "--keep-git-history")
		sweep("first", "rows.jsonl")
		sweep("kept", "rows.jsonl", "--keep-git-history")
		sweep("again", "rows.jsonl")
		forget()
		sweep("each-kept", "each.jsonl", "--keep-git-history")
		sweep("each", "each.jsonl")
	}
	forget()
	middle := func(kind string) float64 {
		slices.Sort(took[kind])
		n := len(took[kind])
		return (took[kind][n/2] + took[kind][(n-1)/2]).Seconds() / 2
	}
	b.ReportMetric(middle("kept"), "s/kept")
	b.ReportMetric(middle("first")/middle("kept"), "x/first")
	b.ReportMetric(middle("again")/middle("kept"), "x/again")
	b.ReportMetric(middle("each-kept"), "s/each-kept")
	b.ReportMetric(middle("each")/middle("each-kept"), "x/each")
	b.ReportMetric(0, "ns/op")
}
