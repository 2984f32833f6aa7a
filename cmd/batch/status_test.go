package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/report"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

// status runs `batch status out --json` in dir.
func status(t *testing.T, dir string) report.Status {
	t.Helper()
	out, err := batch(t.Context(), dir, "status", "out", "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var s report.Status
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

// ends counts the instances by status.
func ends(s report.Status) map[vocab.Status]int {
	count := map[vocab.Status]int{}
	for _, in := range s.Instances {
		count[in.Status]++
	}
	return count
}

func TestTheStatusOfARunningRun(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	ownRows(t, dir)
	cmd, lines := startSlow(t, dir, 2)
	s := status(t, dir)
	if !strings.Contains(s.Owner, "pid") || s.Asked != 4 || s.Results != 0 {
		t.Errorf("got in use by %q, %d of %d with a result; want the run's owner and no results", s.Owner, s.Results, s.Asked)
	}
	if got := ends(s); got[vocab.StatusRunning] != 2 || got["not run"] != 2 {
		t.Errorf("statuses %v, want two that run and two that wait", got)
	}
	if out, err := batch(t.Context(), dir, "retry", "out", "--outcome", "pending").CombinedOutput(); err == nil || !strings.Contains(string(out), "in use") {
		t.Errorf("retry in a directory in use: %v\n%s", err, out)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // drains the pipe so that the program can end
	}
	_ = cmd.Wait()
	s = status(t, dir)
	if got := ends(s); s.Owner != "" || got["Interrupted"] != 2 || got["not run"] != 2 {
		t.Errorf("in use by %q, statuses %v, want two that were interrupted", s.Owner, got)
	}
	if m, err := manifest.Read(filepath.Join(dir, "out")); err != nil || len(m.Runs) != 1 || m.Runs[0].Ended == nil {
		t.Errorf("manifest %+v, %v; want 1 run, an end, no error", m, err)
	}
}
