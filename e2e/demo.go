package e2e

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// DemoSweep is the command of README.md that makes the folder demo-run: both models on every
// instance of the demo, graded.
var DemoSweep = []string{
	"sweep", "--grade", "--subset", "demo", "-m", "scripted/demo", "-m", "scripted/demo-hasty", "-w", "4",
	"-o", "demo-run", "--set", "agent.step_limit=12", "--set", "environment.timeout=15", "-q",
}

var swept struct {
	sync.Mutex
	dir string
}

// DemoRun makes dir a copy of the folder of [DemoSweep]. The test of README.md leaves such a folder
// at BATCH_DEMO_RUN; without one, a package's tests make it once.
func DemoRun(tb testing.TB, dir string) {
	tb.Helper()
	NeedDocker(tb)
	swept.Lock()
	defer swept.Unlock()
	from := os.Getenv("BATCH_DEMO_RUN")
	if _, err := os.Stat(from); err != nil {
		from = swept.dir
	}
	if from == "" {
		work, err := os.MkdirTemp("", "batch-demo-")
		if err != nil {
			tb.Fatal(err)
		}
		removeAtEnd(work)
		if code, out := ExitCode(tb, Batch(tb, work, DemoSweep...)); code != ExitOK {
			tb.Fatalf("exit code %d, want %d\n%s", code, ExitOK, out)
		}
		from = filepath.Join(work, "demo-run")
		swept.dir = from
	}
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
}
