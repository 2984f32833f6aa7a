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

// history makes in /testbed a repository of the size of sympy's: 60,000 commits to 4,000 files, in
// a pack of more than 100 MB. It checks out the commit 5,000 before the last.
const history = `mkdir -p /testbed && cd /testbed && rm -rf .git && git init -q -b main && python3 - <<'END' | git -c fastimport.unpackLimit=0 fast-import --quiet --depth=50 &&
import random
random.seed(7)
for i in range(1, 60001):
    f = i if i <= 4000 else random.randrange(4000)
    text = f"{random.getrandbits(12000):x}\n"
    print(f"commit refs/heads/main\nmark :{i}\ncommitter a <a@localhost> {1000000000 + i * 600} +0000\ndata 6\nchange")
    print(f"M 100644 inline d{f % 40}/e{f % 5}/f{f}.py\ndata {len(text)}\n{text}")
    if i % 500 == 0:
        print(f"reset refs/tags/v{i // 500}\nfrom :{i}\n")
END
git reset -q --hard main~5000 && du -m .git/objects/pack | cut -f1 && git rev-parse HEAD`

// historyImages is how many images there are, each with an id of its own.
const historyImages = 4

func historyImage(i int) string { return fmt.Sprintf("batch-test/history-%d:1", i) }

// makeHistory makes the images, and returns the commit that they are at.
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
	var mib int
	var commit string
	if _, scanned := fmt.Sscan(string(r.Bytes), &mib, &commit); err != nil || r.ExitCode != 0 || scanned != nil || mib < 100 {
		b.Fatalf("got %+v, %v; want exit code 0, no error, and packs of 100 MB", r, err)
	}
	var names []string
	b.Cleanup(func() {
		for _, name := range slices.Backward(names) {
			if err := e.RemoveImage(context.Background(), name); err != nil {
				b.Error(err)
			}
		}
	})
	for i := range historyImages {
		names = append(names, historyImage(i))
		commit := exec.Command("docker", "commit", "-c", fmt.Sprint("LABEL image=", i), c.ID(), names[i])
		if i > 0 { // the same layers with another id
			commit = exec.Command("docker", "build", "-q", "-t", names[i], "-")
			commit.Stdin = strings.NewReader(fmt.Sprintf("FROM %s\nLABEL image=%d\n", names[0], i))
		}
		if out, err := commit.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
	}
	return commit
}

// BenchmarkHistorySweep runs 32 instances of 11 steps on 4 images, all at once and with a model
// that takes 1 s: with the history kept, and scrubbed, on images that are used for the first, the
// second and the third time. It reports how much longer these take than the first, as medians of
// all rounds, which alternate. It does the same with 4 instances that have an image each, so that
// none can use the scrub of another.
func BenchmarkHistorySweep(b *testing.B) {
	e2e.NeedDocker(b)
	dir, path, base := b.TempDir(), e2e.Build(b), makeHistory(b)
	var replies strings.Builder
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for name, n := range map[string]int{"many.jsonl": 32, "each.jsonl": historyImages} {
		var rows strings.Builder
		for i := range n {
			fmt.Fprintf(&rows, `{"instance_id": "bench__history-%d", "image_name": %q, "base_commit": %q, "problem_statement": "x"}`+"\n", i, historyImage(i%historyImages), base)
		}
		write(name, rows.String())
	}
	replies.WriteString("'*':\n")
	for range 10 {
		replies.WriteString("- {content: step, bash: 'ls | head -3', delay: 1}\n")
	}
	replies.WriteString("- {content: done, bash: 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT', delay: 1}\n")
	write("script.yaml", replies.String())
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
	for b.Loop() {
		for prefix, rows := range map[string]string{"": "many.jsonl", "each-": "each.jsonl"} {
			if err := os.RemoveAll(filepath.Join(dir, "state")); err != nil { // the outcomes of scrubs
				b.Fatal(err)
			}
			for _, use := range []string{"first", "second", "third"} {
				sweep(prefix+"kept", rows, "--keep-git-history")
				sweep(prefix+use, rows)
			}
		}
	}
	middle := func(kind string) float64 {
		slices.Sort(took[kind])
		n := len(took[kind])
		return (took[kind][n/2] + took[kind][(n-1)/2]).Seconds() / 2
	}
	for _, prefix := range []string{"", "each-"} {
		b.ReportMetric(middle(prefix+"kept"), "s/"+prefix+"kept")
		for _, use := range []string{"first", "second", "third"} {
			b.ReportMetric(middle(prefix+use)/middle(prefix+"kept"), "x/"+prefix+use)
		}
	}
	b.ReportMetric(0, "ns/op")
}
