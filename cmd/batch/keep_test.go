package main

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"batch.example/batch/docker/containers"
	"batch.example/batch/run/rundir"
)

// keepContainers lets the containers of a run directory outlive the process that has them: other
// tests' runs, which remove the containers of dead ones, find this process in its lease.
// It lasts until stop is called.
func keepContainers(dir string) (stop func()) {
	lease, line := rundir.Lease(dir), containers.Owner()+"\n"
	done := make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			text, err := os.ReadFile(lease)
			if err != nil || len(text) == 0 || strings.Contains(string(text), line) {
				continue // nobody has had it, it was given up, or this process is in it
			}
			f, err := os.OpenFile(lease, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				continue
			}
			_, _ = f.WriteString(line) // if it fails, it is tried again
			_ = f.Close()
		}
	})
	return func() {
		close(done)
		g.Wait()
	}
}

// keep is [keepContainers] in a script, until its end: keep DIR
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keep DIR")
	}
	ts.Defer(keepContainers(ts.MkAbs(args[0])))
}

func TestKeptContainersStay(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := ownRows(t, dir)
	stop := keepContainers(dir + "/out")
	cmd, _ := startSlow(t, dir, 2, "NAP=10")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	clean := func() {
		t.Helper()
		if out, err := batch(t.Context(), dir, "clean").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	clean()
	if n := containersOf(t, prefix); n != 2 {
		t.Errorf("%d containers are left, want the 2 that are kept", n)
	}
	stop()
	if err := os.Truncate(rundir.Lease(dir+"/out"), 0); err != nil {
		t.Fatal(err)
	}
	clean()
	if n := containersOf(t, prefix); n != 0 {
		t.Errorf("%d containers are left, want none", n)
	}
}
