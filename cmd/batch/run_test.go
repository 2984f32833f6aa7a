package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=batch", "HF_HUB_OFFLINE=1",
		"XDG_STATE_HOME="+filepath.Join(dir, "state"))
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

func TestTheOraclePredictsTheGoldPatches(t *testing.T) {
	needDocker(t)
	t.Parallel()
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

// slowScript makes every instance sleep in its first command, for long unless
// the program's environment says otherwise. A resumed attempt
// repeats the command with the environment of then.
const slowScript = `"*":
  - bash: "echo working > work.txt; sleep ${NAP:-120}"
  - bash: "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
`

// ownRows writes a dataset of four instances on a demo image, whose ids no
// other test has: tests of other packages use the engine at the same time.
func ownRows(t *testing.T, dir string) (prefix string) {
	t.Helper()
	prefix = "own-" + strings.ToLower(rand.Text()[:8]) + "__"
	var rows strings.Builder
	for i := range 4 {
		fmt.Fprintf(&rows, `{"instance_id":"%s%d","problem_statement":"p","image_name":"batch-demo/demo__slug-1:latest"}`+"\n", prefix, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return prefix
}

// slowArgs run ownRows with slowScript.
var slowArgs = []string{
	"run", "--subset", "rows.jsonl", "-w", "2", "-m", "scripted/slow.yaml", "-o", "out", "-c", "environment.timeout=200",
	"-c", `environment.forward_env=["NAP"]`,
}

// startSlow starts a run and waits until its instances are in their command.
func startSlow(t *testing.T, dir string, instances int, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte(slowScript), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := batch(t.Context(), dir, append(slices.Clone(slowArgs), "--json")...)
	cmd.Env = append(cmd.Env, env...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for seen := 0; seen < instances && lines.Scan(); {
		if strings.Contains(lines.Text(), `"phase":"commands"`) {
			seen++
		}
	}
	return cmd, lines
}

// connect returns the engine that runs of tests use, until the test has ended.
func connect(tb testing.TB) *docker.Engine {
	tb.Helper()
	home, _ := os.UserHomeDir()
	engine, err := docker.Connect(tb.Context(), docker.FromEnv(os.Getenv, home))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = engine.Close() })
	return engine
}

// makeInContainers makes a file in the containers of the instances with that id prefix.
func makeInContainers(t *testing.T, prefix, name string) {
	t.Helper()
	engine := connect(t)
	owned, err := engine.Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range owned {
		if !strings.HasPrefix(c.Instance, prefix) {
			continue
		}
		if out, err := exec.CommandContext(t.Context(), "docker", "exec", c.ID, "touch", name).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// containersOf counts the containers of the instances with that id prefix.
func containersOf(t *testing.T, prefix string) int {
	t.Helper()
	owned, err := connect(t).Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range owned {
		if strings.HasPrefix(c.Instance, prefix) {
			n++
		}
	}
	return n
}

func TestSIGTERMSavesAndRemovesContainers(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := ownRows(t, dir)
	cmd, lines := startSlow(t, dir, 2)
	if n := containersOf(t, prefix); n != 2 {
		t.Errorf("%d containers while two instances run, want 2", n)
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
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if d := time.Since(start); d > 90*time.Second { // the commands take longer
		t.Errorf("took %v to stop, want less than the commands take", d)
	}
	if n := containersOf(t, prefix); n != 0 {
		t.Errorf("%d containers left behind", n)
	}
	saved, _ := filepath.Glob(filepath.Join(dir, "out", "*", "*.traj.json"))
	if len(saved) != 2 {
		t.Errorf("%d trajectories saved, want those of the two that ran", len(saved))
	}
	if p := predictions(t, filepath.Join(dir, "out")); len(p) != 0 {
		t.Errorf("interrupted instances have predictions: %v, want none", p)
	}
}

func TestTheFirstInterruptDrains(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := ownRows(t, dir)
	script := strings.Replace(slowScript, "sleep ${NAP:-120}", "until test -e /tmp/go; do sleep 0.1; done", 1)
	if err := os.WriteFile(filepath.Join(dir, "slow.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := batch(t.Context(), dir, "run", "--subset", "rows.jsonl", "-w", "1", "-m", "scripted/slow.yaml", "-o", "out", "--json")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		switch {
		case !sent && strings.Contains(lines.Text(), `"phase":"commands"`):
			sent = true
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		case strings.Contains(lines.Text(), "running instances finish"):
			makeInContainers(t, prefix, "/tmp/go")
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

func TestTheNextRunRepairsWhatAKilledRunLeft(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := ownRows(t, dir)
	cmd, _ := startSlow(t, dir, 2, "NAP=10") // which the next run waits for, see [containers.Command.ID]

	// Meanwhile no other run may write into the directory.
	second := batch(t.Context(), dir, slowArgs...)
	out, _ := second.CombinedOutput()
	if code := second.ProcessState.ExitCode(); code != exitLocked {
		t.Errorf("a second run into the directory: exit code %d, want %d\n%s", code, exitLocked, out)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	again := batch(t.Context(), dir, slowArgs...)
	again.Env = append(again.Env, "NAP=0")
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := containersOf(t, prefix); n != 0 {
		t.Errorf("%d containers left behind", n)
	}
	if p := predictions(t, filepath.Join(dir, "out")); len(p) != 4 {
		t.Errorf("%d predictions, want 4", len(p))
	}
}

func TestAClosedOutputPipeDoesNotStopTheRun(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := ownRows(t, dir)
	cmd, _ := startSlow(t, dir, 2)
	// startSlow's pipe is dropped; from the next command on the script is quick.
	if err := cmd.Process.Signal(syscall.SIGPIPE); err != nil {
		t.Fatal(err)
	}
	if n := containersOf(t, prefix); n != 2 {
		t.Errorf("%d containers while two instances run, want 2", n)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // closes the pipe: later writes fail with EPIPE
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
	if n := containersOf(t, prefix); n != 0 {
		t.Errorf("%d containers left behind", n)
	}
}

func TestRedoKeepsResultsUntilTheyAreReplaced(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	ownRows(t, dir)
	args := []string{"run", "--subset", "rows.jsonl", "-m", "noop", "-o", "out", "-q"}
	if out, err := batch(t.Context(), dir, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// An unreachable engine must not lose existing predictions.
	gone := batch(t.Context(), dir, append(slices.Clone(args), "--redo-existing")...)
	gone.Env = append(gone.Env, "DOCKER_HOST=unix:///nonexistent/docker.sock")
	if out, _ := gone.CombinedOutput(); gone.ProcessState.ExitCode() != exitFailed {
		t.Errorf("exit code %d, want %v\n%s", gone.ProcessState.ExitCode(), exitFailed, out)
	}
	if p := predictions(t, filepath.Join(dir, "out")); len(p) != 4 {
		t.Errorf("%d predictions after a redo that could not start, want 4", len(p))
	}
	// Running part of the directory with another model would mix two models.
	mixed := batch(t.Context(), dir, "run", "--subset", "rows.jsonl", "--slice", ":1", "-m", "scripted/demo", "-o", "out", "--redo-existing")
	if out, _ := mixed.CombinedOutput(); mixed.ProcessState.ExitCode() != exitUsage {
		t.Errorf("exit code %d, want %v\n%s", mixed.ProcessState.ExitCode(), exitUsage, out)
	}
	if out, err := batch(t.Context(), dir, append(slices.Clone(args), "--redo-existing")...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	journals, _ := filepath.Glob(filepath.Join(dir, "out", "*", "journal.jsonl"))
	for _, path := range journals {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), `"type":"end"`); n != 2 {
			t.Errorf("%s: %d attempts, want two", path, n)
		}
	}
}

func TestAFailedRemovalIsRetried(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	prefix := ownRows(t, dir)
	for _, spec := range []string{"engine.remove:1=500", "engine.remove:1=503,engine.remove:2=ECONNRESET"} {
		cmd := batch(t.Context(), dir, "run", "--subset", "rows.jsonl", "--slice", ":2", "-m", "noop", "-o", "out", "-q", "--redo-existing", "--inject", spec)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", spec, err, out)
		}
		if n := containersOf(t, prefix); n != 0 {
			t.Errorf("%s: %d containers are left", spec, n)
		}
	}
}
