package runs

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func TestTheStatusOfARunningRun(t *testing.T) {
	tier.Rest(t, "internal/progress", "run/rundir", "runner", "cmd/batch", "report")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	cmd, lines := e2e.StartSlow(t, dir, 2)
	s := e2e.Status(t, dir)
	if !strings.Contains(s.Owner, "pid") || s.Asked != 4 || s.Results != 0 {
		t.Errorf("got in use by %q, %d of %d with a result; want the run's owner and no results", s.Owner, s.Results, s.Asked)
	}
	if got := e2e.Statuses(s); got[vocab.StatusRunning] != 2 || got["not run"] != 2 {
		t.Errorf("statuses %v, want two that run and two that wait", got)
	}
	if out, err := e2e.Batch(t, dir, "retry", "out", "--outcome", "pending").CombinedOutput(); err == nil || !strings.Contains(string(out), "in use") {
		t.Errorf("retry in a directory in use: %v\n%s", err, out)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // drains the pipe so that the program can end
	}
	_ = cmd.Wait()
	s = e2e.Status(t, dir)
	if got := e2e.Statuses(s); s.Owner != "" || got["Interrupted"] != 2 || got["not run"] != 2 {
		t.Errorf("in use by %q, statuses %v, want two that were interrupted", s.Owner, got)
	}
	if m, err := manifest.Read(filepath.Join(dir, "out")); err != nil || len(m.Runs) != 1 || m.Runs[0].Ended == nil {
		t.Errorf("manifest %+v, %v; want 1 run, an end, no error", m, err)
	}
}
