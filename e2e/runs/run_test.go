package runs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results/manifest"
	"batch.example/batch/vocab"
)

func TestTheOraclePredictsTheGoldPatches(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	out, err := e2e.Batch(t, dir, "run", "--subset", "demo", "-m", "oracle", "-o", "out", "-w", "4", "-q").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	texts := e2e.Predictions(t, filepath.Join(dir, "out"))
	for _, in := range e2e.DemoInstances(t) {
		patch, err := os.ReadFile(filepath.Join(dir, "out", in.ID, in.ID+".patch"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(patch, []byte(in.Patch)) {
			t.Errorf("%s: the patch file differs from the gold patch", in.ID)
		}
		text, ok := texts[in.ID]
		switch {
		case !ok:
			t.Errorf("%s: no prediction", in.ID)
		case utf8.ValidString(in.Patch) && text != in.Patch:
			t.Errorf("%s: the prediction differs from the gold patch", in.ID)
		case !utf8.ValidString(in.Patch) && !strings.Contains(text, "GIT binary patch"):
			t.Errorf("%s: a patch that is not UTF-8 became %.200q", in.ID, text)
		}
	}
}

func TestSIGTERMSavesAndRemovesContainers(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := e2e.OwnRows(t, dir)
	cmd, lines := e2e.StartSlow(t, dir, 2)
	if n := e2e.ContainersOf(t, prefix); n != 2 {
		t.Errorf("%d containers while two instances run, want 2", n)
	}
	s := e2e.Status(t, dir)
	if !strings.Contains(s.Owner, "pid") || s.Asked != 4 || s.Results != 0 {
		t.Errorf("got in use by %q, %d of %d with a result; want the run's owner and no results", s.Owner, s.Results, s.Asked)
	}
	if got := e2e.Statuses(s); got[vocab.StatusRunning] != 2 || got["not run"] != 2 {
		t.Errorf("statuses %v, want two that run and two that wait", got)
	}
	for _, in := range s.Instances {
		if out, err := e2e.Batch(t, dir, "show", "out", in.InstanceID, "--diff").CombinedOutput(); in.Status == vocab.StatusRunning && (err == nil || !strings.Contains(string(out), " has no patch (running)\n")) {
			t.Errorf("the patch of an attempt that runs: %v\n%s", err, out)
		}
	}
	if out, err := e2e.Batch(t, dir, "retry", "out", "--outcome", "pending").CombinedOutput(); err == nil || !strings.Contains(string(out), "in use") {
		t.Errorf("retry in a directory in use: %v\n%s", err, out)
	}
	start := time.Now()
	// A process and its group often both get the signal; the second must change nothing.
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for lines.Scan() { // drains the pipe so that the program can end
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != e2e.ExitInterrupted {
		t.Errorf("exit code %d, want %d", code, e2e.ExitInterrupted)
	}
	if d := time.Since(start); d > e2e.Patience { // the commands take longer
		t.Errorf("took %v to stop, want less than the commands take", d)
	}
	if n := e2e.ContainersOf(t, prefix); n != 0 {
		t.Errorf("%d containers left behind", n)
	}
	saved, _ := filepath.Glob(filepath.Join(dir, "out", "*", "*.traj.json"))
	if len(saved) != 2 {
		t.Errorf("%d trajectories saved, want two: two instances ran", len(saved))
	}
	if p := e2e.Predictions(t, filepath.Join(dir, "out")); len(p) != 0 {
		t.Errorf("interrupted instances have predictions: %v, want none", p)
	}
	s = e2e.Status(t, dir)
	if got := e2e.Statuses(s); s.Owner != "" || got["Interrupted"] != 2 || got["not run"] != 2 {
		t.Errorf("in use by %q, statuses %v, want two that were interrupted", s.Owner, got)
	}
	if m, err := manifest.Read(filepath.Join(dir, "out")); err != nil || len(m.Runs) != 1 || m.Runs[0].Ended == nil {
		t.Errorf("manifest %+v, %v; want 1 run, an end, no error", m, err)
	}
}

func TestTheNextRunRepairsWhatAKilledRunLeft(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := e2e.OwnRows(t, dir)
	free := e2e.Keep(filepath.Join(dir, "out")) // other runs remove the containers otherwise
	cmd, _ := e2e.StartSlow(t, dir, 2)

	// Meanwhile no other run may write into the directory.
	second := e2e.Batch(t, dir, e2e.SlowArgs...)
	out, _ := second.CombinedOutput()
	if code := second.ProcessState.ExitCode(); code != e2e.ExitLocked {
		t.Errorf("a second run into the directory: exit code %d, want %d\n%s", code, e2e.ExitLocked, out)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	e2e.MakeInContainers(t, prefix, "/tmp/go") // the next run waits for these commands, see [containers.Command.ID]
	free()
	again := e2e.Batch(t, dir, e2e.SlowArgs...)
	again.Env = append(again.Env, "GO=1")
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := e2e.ContainersOf(t, prefix); n != 0 {
		t.Errorf("%d containers left behind", n)
	}
	if p := e2e.Predictions(t, filepath.Join(dir, "out")); len(p) != 4 {
		t.Errorf("%d predictions, want 4", len(p))
	}
}

func TestAClosedOutputPipeDoesNotStopTheRun(t *testing.T) {
	tier.Rest(t, "cmd/batch", "internal/progress")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := e2e.OwnRows(t, dir)
	cmd, _ := e2e.StartSlow(t, dir, 2)
	// e2e.StartSlow's pipe is dropped; from the next command on the script is quick.
	if err := cmd.Process.Signal(syscall.SIGPIPE); err != nil {
		t.Fatal(err)
	}
	if n := e2e.ContainersOf(t, prefix); n != 2 {
		t.Errorf("%d containers while two instances run, want 2", n)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // closes the pipe: later writes fail with EPIPE
	if code := cmd.ProcessState.ExitCode(); code != e2e.ExitInterrupted {
		t.Errorf("exit code %d, want %d", code, e2e.ExitInterrupted)
	}
	if n := e2e.ContainersOf(t, prefix); n != 0 {
		t.Errorf("%d containers left behind", n)
	}
}
