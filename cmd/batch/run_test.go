package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"batch.example/batch/dataset"
	"batch.example/batch/dataset/demo"
	"batch.example/batch/docker"
)

// batch runs this test binary as the program, in dir.
func batch(ctx context.Context, dir string, args ...string) *exec.Cmd {
	// testscript runs the program when the binary is called by its name.
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Args[0] = "batch"
	cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=batch", "HF_HUB_OFFLINE=1")
	cmd.Dir = dir
	return cmd
}

func demoInstances(t testing.TB) []dataset.Instance {
	t.Helper()
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: "demo", Demo: demo.Files()})
	if err != nil {
		t.Fatal(err)
	}
	return ds.Instances
}

// predictions reads a preds.json.
func predictions(t testing.TB, dir string) map[string]string {
	t.Helper()
	var rows map[string]struct {
		Patch string `json:"model_patch"`
	}
	readJSON(t, filepath.Join(dir, "preds.json"), &rows)
	patches := map[string]string{}
	for id, row := range rows {
		patches[id] = row.Patch
	}
	return patches
}

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func TestTheOraclesPredictionsAreTheGoldPatches(t *testing.T) {
	needDocker(t)
	dir := t.TempDir()
	out, err := batch(t.Context(), dir, "run", "--subset", "demo", "-m", "oracle", "-o", "out", "-w", "4", "-q").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	texts := predictions(t, filepath.Join(dir, "out"))
	for _, in := range demoInstances(t) {
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

// slowScript makes every instance sleep for long in its first command.
const slowScript = `"*":
  - bash: "echo working > work.txt; sleep 120"
  - bash: "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
`

// startSlow starts a run and waits until its instances are in their command.
func startSlow(t *testing.T, dir string, instances int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte(slowScript), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := batch(t.Context(), dir, "run", "--subset", "demo", "--slice", ":4", "-w", "2",
		"-m", "scripted/slow.yaml", "-o", "out", "--json", "-c", "environment.timeout=200")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for seen := 0; seen < instances && lines.Scan(); {
		if strings.Contains(lines.Text(), `"phase":"command"`) {
			seen++
		}
	}
	return cmd, lines
}

// containers counts the containers that batch made and that still exist.
func containers(t *testing.T) int {
	t.Helper()
	home, _ := os.UserHomeDir()
	engine, err := docker.Connect(t.Context(), docker.FromEnv(os.Getenv, home))
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	owned, err := engine.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(owned)
}

func TestSIGTERMSavesAndRemovesContainers(t *testing.T) {
	needDocker(t)
	dir := t.TempDir()
	before := containers(t)
	cmd, lines := startSlow(t, dir, 2)
	if n := containers(t); n != before+2 {
		t.Errorf("%d containers while two instances run, %d before", n, before)
	}
	start := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // drains the pipe so that the program can end
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("took %v to stop", d)
	}
	if n := containers(t); n != before {
		t.Errorf("%d containers left behind", n-before)
	}
	saved, _ := filepath.Glob(filepath.Join(dir, "out", "*", "*.traj.json"))
	if len(saved) != 2 {
		t.Errorf("%d trajectories saved, want those of the two that ran", len(saved))
	}
	if p := predictions(t, filepath.Join(dir, "out")); len(p) != 0 {
		t.Errorf("interrupted instances have predictions: %v", p)
	}
}

func TestTheFirstInterruptDrains(t *testing.T) {
	needDocker(t)
	dir := t.TempDir()
	script := strings.Replace(slowScript, "sleep 120", "sleep 4", 1)
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := batch(t.Context(), dir, "run", "--subset", "demo", "--slice", ":4", "-w", "1",
		"-m", "scripted/slow.yaml", "-o", "out", "--json")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if !sent && strings.Contains(lines.Text(), `"phase":"command"`) {
			sent = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if p := predictions(t, filepath.Join(dir, "out")); len(p) != 1 {
		t.Errorf("%d predictions, want that of the one that was running", len(p))
	}
}

func TestAKilledRunLeavesNothingThatTheNextDoesNotMend(t *testing.T) {
	needDocker(t)
	dir := t.TempDir()
	before := containers(t)
	cmd, _ := startSlow(t, dir, 2)

	// Meanwhile nobody else may write into the directory.
	args := []string{"run", "--subset", "demo", "--slice", ":4", "-w", "2", "-m", "scripted/slow.yaml", "-o", "out"}
	second := batch(t.Context(), dir, append(args, "-c", "environment.timeout=200")...)
	out, _ := second.CombinedOutput()
	if code := second.ProcessState.ExitCode(); code != exitLocked {
		t.Errorf("a second run into the directory: exit code %d, want %d\n%s", code, exitLocked, out)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if n := containers(t); n != before+2 {
		t.Fatalf("%d containers after kill -9, %d before", n, before)
	}
	// The same command again, with a script that does not sleep.
	quick := strings.Replace(slowScript, "sleep 120", "true", 1)
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte(quick), 0o600); err != nil {
		t.Fatal(err)
	}
	again := batch(t.Context(), dir, append(args, "-c", "environment.timeout=200")...)
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := containers(t); n != before {
		t.Errorf("%d containers left behind", n-before)
	}
	if p := predictions(t, filepath.Join(dir, "out")); len(p) != 4 {
		t.Errorf("%d predictions, want 4", len(p))
	}
}
