package faults

import (
	"os"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results"
)

func TestKeptContainersStay(t *testing.T) {
	tier.Rest(t, "sandbox/*.go", "docker/*.go", "internal/owner")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := e2e.OwnRows(t, dir)
	stop := e2e.Keep(dir + "/out")
	cmd, _ := e2e.StartSlow(t, dir, 2)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	clean := func() {
		t.Helper()
		if out, err := e2e.Batch(t, dir, "clean").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	clean()
	if n := e2e.ContainersOf(t, prefix); n != 2 {
		t.Errorf("%d containers are left, want the 2 that are kept", n)
	}
	stop()
	if err := os.Truncate(results.LockPath(dir+"/out"), 0); err != nil {
		t.Fatal(err)
	}
	clean()
	if n := e2e.ContainersOf(t, prefix); n != 0 {
		t.Errorf("%d containers are left, want none", n)
	}
}
