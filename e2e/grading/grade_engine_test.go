package grading

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
)

// copies writes a dataset of n copies of each demo row with other ids.
func copies(t *testing.T, dir string, n int) (count int) {
	t.Helper()
	var rows strings.Builder
	for i := range n {
		for _, in := range e2e.DemoInstances(t) {
			row := maps.Clone(in.Fields)
			if strings.ContainsRune(strings.ToValidUTF8(in.Patch, "\uFFFD"), '\uFFFD') {
				continue // JSON cannot hold it
			}
			row["instance_id"] = fmt.Sprintf("copied-%d-%s", i, in.ID)
			line, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			rows.Write(append(line, '\n'))
			count++
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return count
}

// A grading that is killed over and over grades each prediction once, and the next one removes the containers in
// which tests run.
func TestGradingKilledInTheMiddleGradesEachOnce(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	n := copies(t, dir, 2)
	args := []string{"grade", "gold", "--subset", "rows.jsonl", "-o", "out", "-w", "8", "-q", "--no-cache"}
	for kill := 1; kill <= 2; kill++ {
		cmd := e2e.Batch(t, dir, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		e2e.AwaitGrades(t, filepath.Join(dir, "out"), 4*kill)
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	}
	if done := len(e2e.Verdicts(t, filepath.Join(dir, "out"))); done >= n {
		t.Fatalf("all %d were graded before the last kill", done)
	}
	code, out := e2e.ExitCode(t, e2e.Batch(t, dir, args...))
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	e2e.GradedOnce(t, filepath.Join(dir, "out"), n)
	if code, out := e2e.ExitCode(t, e2e.Batch(t, dir, args...)); code != 0 || !strings.Contains(out, "nothing to do") {
		t.Errorf("the same command again: exit code %d\n%s", code, out)
	}
	if n := e2e.ContainersOf(t, "copied-"); n > 0 {
		t.Errorf("%d containers are left", n)
	}
}

func TestARunGradesWhatItPredicts(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	code, out := e2e.ExitCode(t, e2e.Batch(t, dir, "run", "--subset", "demo", "--slice", ":3", "-m", "oracle", "-o", "out", "-w", "3", "-q", "--grade"))
	if code != 0 || !strings.Contains(out, "resolved 3 of 3 graded") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	e2e.GradedOnce(t, filepath.Join(dir, "out"), 3)
	snap, err := results.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range snap.Records {
		if r.Resolved == nil || !*r.Resolved || r.Grade.Attempt != 1 {
			t.Errorf("%s: %+v; want resolved, of attempt 1", r.InstanceID, r.Grade)
		}
	}
	var report struct {
		Resolved []string `json:"resolved_ids"`
		Schema   int      `json:"schema_version"`
	}
	e2e.ReadJSON(t, filepath.Join(dir, "out", "oracle.out.json"), &report)
	if len(report.Resolved) != 3 || report.Schema != 2 {
		t.Errorf("report %+v", report)
	}
	// What lost its grades is graded by a resume, and no agent runs again.
	if err := os.Remove(grades.Path(filepath.Join(dir, "out"))); err != nil {
		t.Fatal(err)
	}
	if code, out := e2e.ExitCode(t, e2e.Batch(t, dir, "resume", "out", "-q")); code != 0 {
		t.Errorf("resume: exit code %d\n%s", code, out)
	}
	e2e.GradedOnce(t, filepath.Join(dir, "out"), 3)
}

// After a kill, the same command continues both: no agent starts a second attempt at what has a
// result, and nothing is graded twice.
func TestARunThatIsKilledWhileItGradesGradesEachOnce(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	args := []string{"run", "--subset", "demo", "--slice", ":6", "-m", "oracle", "-o", "out", "-w", "2", "-q", "--grade"}
	cmd := e2e.Batch(t, dir, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	e2e.AwaitGrades(t, out, 1)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	before, err := results.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(e2e.Verdicts(t, out)); n == 0 || n == 6 {
		t.Fatalf("%d of 6 were graded before the kill", n)
	}
	if code, text := e2e.ExitCode(t, e2e.Batch(t, dir, args...)); code != 0 || !strings.Contains(text, "resolved 6 of 6 graded") {
		t.Errorf("exit code %d\n%s", code, text)
	}
	e2e.GradedOnce(t, out, 6)
	after, err := results.Read(out)
	if err != nil {
		t.Fatal(err)
	}
	last := results.Latest(after.Records)
	for _, r := range before.Records {
		if r.Outcome.Final() && last[r.InstanceID].Attempt != r.Attempt {
			t.Errorf("%s has a result of attempt %d, and attempt %d was made", r.InstanceID, r.Attempt, last[r.InstanceID].Attempt)
		}
	}
}

func TestACheckNamesTheInstancesThatAreBroken(t *testing.T) {
	tier.Rest(t, "grade", "run/grading", "cmd/batch/grade*.go", "sandbox/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	const before = ">>>>> Start Test Output'\n"
	changes := []func(row map[string]any){
		func(row map[string]any) { // its gold patch does not apply
			row["patch"] = "diff --git a/nothing b/nothing\n--- a/nothing\n+++ b/nothing\n@@ -1 +1 @@\n-a\n+b\n"
		},
		func(row map[string]any) { row["FAIL_TO_PASS"] = []string{} }, // no patch is needed
		func(row map[string]any) {},                                   // in order
	}
	write := func(name string, changes ...func(map[string]any)) {
		var rows strings.Builder
		for i, change := range changes {
			row := maps.Clone(e2e.DemoInstances(t)[[]int{0, 1, 3}[i]].Fields) // JSON cannot hold instance 2's
			change(row)
			line, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			rows.Write(append(line, '\n'))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(rows.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rows.jsonl", changes...)
	write("flaky.jsonl", func(row map[string]any) {
		row["eval_script"] = strings.Replace(row["eval_script"].(string), before, before+"[ $((RANDOM % 2)) = 0 ] && exit 1\n", 1)
	})
	check := func(rows, repeat string, want ...string) {
		t.Helper()
		out := "check-" + rows
		code, said := e2e.ExitCode(t, e2e.Batch(t, dir, "grade", "--check", "--subset", rows, "-o", out, "-w", "4", "-q", "--repeat", repeat))
		list, err := os.ReadFile(filepath.Join(dir, out, grades.QuarantineFile))
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		ids, err := grades.ParseQuarantine("list", string(list))
		if code != e2e.ExitIncomplete || err != nil || len(ids) != len(want) {
			t.Errorf("exit code %d, %v, %v; want %d and %d ids\n%s", code, ids, err, e2e.ExitIncomplete, len(want), said)
		}
		for _, why := range want {
			if !strings.Contains(string(list), why) || !strings.Contains(said, why) {
				t.Errorf("the list lacks %q:\n%s\n%s", why, list, said)
			}
		}
	}
	check("rows.jsonl", "1", "gold is not resolved: patch does not apply", "resolved without a patch")
	check("flaky.jsonl", "25", "unstable with gold")
	code, out := e2e.ExitCode(t, e2e.Batch(t, dir, "grade", "gold", "--subset", "rows.jsonl", "-o", "graded", "-q",
		"--quarantine", filepath.Join("check-rows.jsonl", grades.QuarantineFile)))
	if code != 0 || !strings.Contains(out, "resolved 1 of 1 graded") || !strings.Contains(out, "quarantine") {
		t.Errorf("exit code %d; want the quarantined left out and named\n%s", code, out)
	}
}

// After the first interrupt the running ones are graded, and the command says how to continue.
func TestAnInterruptedGradingContinues(t *testing.T) {
	tier.Rest(t, "run/grading", "grade/evaluate", "results/grades", "cmd/batch/grade*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	args := []string{"grade", "gold", "--subset", "demo", "--slice", ":6", "-o", "out", "-w", "2", "--json", "--no-cache"}
	cmd := e2e.Batch(t, dir, args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"phase":"tests"`) {
			break
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	for lines.Scan() {
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != e2e.ExitInterrupted || !strings.Contains(said.String(), "continue with the same command") {
		t.Errorf("exit code %d\n%s", code, &said)
	}
	if n := len(e2e.Verdicts(t, filepath.Join(dir, "out"))); n == 0 || n > 4 {
		t.Errorf("%d were graded, want only the ones under way", n)
	}
	if code, out := e2e.ExitCode(t, e2e.Batch(t, dir, args...)); code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	e2e.GradedOnce(t, filepath.Join(dir, "out"), 6)
}
