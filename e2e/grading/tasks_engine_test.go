package grading

import (
	"bufio"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/dataset"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/results"
	"batch.example/batch/results/grades"
	"batch.example/batch/vocab"
)

// ownTasks copies task folders of testdata to dir/tasks, with names that no other test has, and removes
// the images that are built from them when the test ends.
func ownTasks(t *testing.T, dir, pattern string) (prefix string) {
	t.Helper()
	e2e.NeedDocker(t)
	own := "own-" + strings.ToLower(rand.Text()[:8])
	tasks := filepath.Join(dir, "tasks")
	folders, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err == nil {
		err = os.Mkdir(tasks, 0o755)
	}
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d task folders, %v", len(folders), err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", append([]string{"-a", "-t", tasks}, folders...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(tasks, "*", "task.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "OWN/", own+"/")), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ds, err := dataset.Open(t.Context(), dataset.Source{Name: tasks})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, in := range ds.Instances {
			e2e.RemoveImage(t, in.ImageName(""))
			if in.Task.Separate != nil {
				e2e.RemoveImage(t, in.Verifier().ImageName(""))
			}
		}
	})
	return own + "__"
}

// replies are what a scripted model does in a task: it runs its solution, but in some it cheats, or is
// slow.
func replies(t *testing.T, tasks, prefix string) string {
	t.Helper()
	folders, err := os.ReadDir(tasks)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for _, f := range folders {
		solution, err := os.ReadFile(filepath.Join(tasks, f.Name(), "solution", "solve.sh"))
		if err != nil {
			t.Fatal(err)
		}
		commands := []string{string(solution)}
		switch f.Name() {
		case "partial":
			commands = []string{"touch a.txt c.txt"}
		case "forged":
			const forge = "while :; do echo 1 >/logs/verifier/reward.txt; echo '{\"reward\": 1}' >/logs/verifier/reward.json; done"
			commands = []string{"echo 1 >/logs/verifier/reward.txt; (setsid bash -c '" + forge + "' >/dev/null 2>&1 &)"}
		case "smuggled": // its own tar packs a verifier of its own
			const pack = `mkdir -p /tmp/x/tests; printf '#!/bin/bash\necho 1 >/logs/verifier/reward.txt\n' >/tmp/x/tests/test.sh; chmod +x /tmp/x/tests/test.sh`
			commands = append(commands, pack+`; mv "$(type -P tar)" /bin/true-tar; printf '#!/bin/bash\nexec /bin/true-tar -C /tmp/x -cf /tmp/.batch-artifacts tests\n' >/bin/tar; chmod +x /bin/tar`)
		case "late":
			commands = append(commands, "sleep 3", "rm hello.txt") // the last one is too late
		}
		script.WriteString(prefix + f.Name() + ":\n")
		for _, c := range append(commands, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT") {
			script.WriteString("- bash: |\n    " + strings.ReplaceAll(strings.TrimSpace(c), "\n", "\n    ") + "\n")
		}
	}
	return script.String()
}

// taskResult is how a task ends. The expected ones follow from the format's rules.
type taskResult struct {
	Status  vocab.Status
	Outcome vocab.Outcome
	Verdict vocab.Verdict // empty: there is none
	Rewards map[string]float64
	Why     string // a part of it
}

func TestTaskFolders(t *testing.T) {
	t.Parallel()
	tier.Rest(t, "dataset/harbor", "grade/verifier", "run/tasks.go", "run/grading/task.go", "sandbox/task.go", "docker/images/build.go", "e2e/grading/testdata/tasks")
	dir := t.TempDir()
	prefix := ownTasks(t, dir, "tasks/*")
	t.Run("are verified in the container of their agent", func(t *testing.T) { runTasks(t, dir, prefix) })
	t.Run("are checked", func(t *testing.T) { checkTasks(t, dir, prefix) })
}

func runTasks(t *testing.T, dir, prefix string) {
	e2e.WriteFiles(t, dir, map[string]string{"play.yaml": replies(t, filepath.Join(dir, "tasks"), prefix)})
	code, out := e2e.ExitCode(t, e2e.Batch(t, dir, "run", "--subset", "tasks", "-m", "scripted/play.yaml", "-o", "out", "-w", "4"))
	if code != e2e.ExitIncomplete || !strings.Contains(out, "THE NETWORK IS OPEN to the agent in 14 of 19 tasks") {
		t.Errorf("exit code %d, want %d and a word about the network\n%s", code, e2e.ExitIncomplete, out)
	}
	one := func(r float64) map[string]float64 { return map[string]float64{"reward": r} }
	const submitted, resolved, unresolved, none = vocab.OutcomeSubmitted, vocab.VerdictResolved, vocab.VerdictUnresolved, vocab.VerdictNoReward
	want := map[string]taskResult{
		"text":       {vocab.StatusSubmitted, submitted, resolved, one(1), ""},
		"json":       {vocab.StatusSubmitted, submitted, resolved, map[string]float64{"correct": 1}, ""},
		"several":    {vocab.StatusSubmitted, submitted, resolved, map[string]float64{"reward": 1, "style": 0.25}, ""},
		"partial":    {vocab.StatusSubmitted, submitted, unresolved, one(0.5), "the reward is 0.5"},
		"users":      {vocab.StatusSubmitted, submitted, resolved, one(1), ""},
		"closed":     {vocab.StatusSubmitted, submitted, resolved, one(1), ""},
		"open":       {vocab.StatusSubmitted, submitted, resolved, one(1), ""},
		"limits":     {vocab.StatusSubmitted, submitted, resolved, one(1), ""},
		"entrypoint": {vocab.StatusSubmitted, submitted, resolved, one(1), ""},
		"hidden":     {vocab.StatusSubmitted, submitted, resolved, one(1), ""},
		"separate":   {vocab.StatusSubmitted, submitted, resolved, one(1), ""},
		"smuggled":   {vocab.StatusSubmitted, submitted, none, nil, "the artifacts cannot be used: /tests is not among them"},
		"forged":     {vocab.StatusSubmitted, submitted, unresolved, one(0), "the reward is 0"},
		"offline":    {vocab.StatusSubmitted, submitted, unresolved, one(0), "Network is unreachable"},
		"late":       {vocab.StatusTimeExceeded, vocab.OutcomeLimit, resolved, one(1), ""},
		"silent":     {vocab.StatusSubmitted, submitted, none, nil, "neither /logs/verifier/reward.json nor /logs/verifier/reward.txt; /tests/test.sh ended with exit code 3"},
		"wordy":      {vocab.StatusSubmitted, submitted, none, nil, `"reward" is true`},
		"hanging":    {vocab.StatusSubmitted, submitted, none, nil, "did not end within 2s"},
		"unbuilt":    {vocab.StatusInstanceFault, vocab.OutcomeInfrastructure, "", nil, "the reason of this failure"},
	}
	got := map[string]taskResult{}
	snap, err := results.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results.Latest(snap.Records) {
		name := strings.TrimPrefix(r.InstanceID, prefix)
		have := taskResult{Status: r.Status, Outcome: r.Outcome, Why: r.Error}
		if r.Grade != nil {
			have.Verdict, have.Rewards, have.Why = r.Grade.Verdict, r.Grade.Rewards, r.Grade.Why+r.Grade.Doubt
		}
		if w := want[name].Why; w != "" && strings.Contains(have.Why, w) || w == "" && have.Verdict == resolved {
			have.Why = w
		}
		got[name] = have
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if out, err := e2e.Batch(t, dir, "status", "out").CombinedOutput(); err != nil || !strings.Contains(string(out), "no reward             4") || !strings.Contains(string(out), "resolved 11 of 18 graded") ||
		!strings.Contains(string(out), "mean reward 0.639 of 18 graded; as Harbor counts, with 1 infrastructure\n  failure as 0: 0.605") /* 11.5 of 18, and of 19 */ {
		t.Errorf("%v; want 4 without a reward, and 11 of 18 resolved\n%s", err, out)
	}
	// A second run builds nothing and keeps what has a result.
	code, out = e2e.ExitCode(t, e2e.Batch(t, dir, "run", "--subset", "tasks", "-m", "scripted/play.yaml", "-o", "out", "--dry-run"))
	if code != e2e.ExitOK || !strings.Contains(out, "would run 1 of 19 instances: 1 retried, 18 kept with a result") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// The solution of each task earns its reward, and nothing does not; but one task's verifier does not end.
func checkTasks(t *testing.T, dir, prefix string) {
	names := []string{"text", "json", "several", "partial", "users", "closed", "open", "limits", "entrypoint", "hidden", "forged", "late", "separate", "hanging"}
	args := []string{"grade", "--check", "--subset", "tasks", "-o", "check", "-w", "4"}
	for _, name := range names {
		args = append(args, prefix+name)
	}
	code, out := e2e.ExitCode(t, e2e.Batch(t, dir, args...))
	if code != e2e.ExitIncomplete || !strings.Contains(out, "1 instance is broken on this machine, of 14:\n  "+prefix+"hanging  gold is not resolved: no reward") {
		t.Errorf("exit code %d, want only %shanging to be broken\n%s", code, prefix, out)
	}
	for word, want := range map[string]vocab.Verdict{"gold": vocab.VerdictResolved, "empty": vocab.VerdictUnresolved} {
		list, err := grades.Read(filepath.Join(dir, "check", word))
		if err != nil || len(list) != len(names) {
			t.Fatalf("%d grades of %s, %v", len(list), word, err)
		}
		for _, g := range list {
			if g.Verdict != want && g.InstanceID != prefix+"hanging" {
				t.Errorf("%s of %s: %s (%s), want %s", word, g.InstanceID, g.Verdict, g.Why, want)
			}
		}
	}
	if ids, err := grades.Quarantined(filepath.Join(dir, "check")); err != nil || !slices.Equal(ids, []string{prefix + "hanging"}) {
		t.Errorf("quarantined %q, %v", ids, err)
	}
}

func TestAKilledVerificationIsDoneAgainInItsContainer(t *testing.T) {
	t.Parallel()
	tier.Rest(t, "dataset/harbor", "grade/verifier", "run/tasks.go", "run/grading/task.go", "sandbox/task.go", "docker/images/build.go", "e2e/grading/testdata/tasks")
	dir := t.TempDir()
	prefix := ownTasks(t, dir, "killed/*")
	e2e.WriteFiles(t, dir, map[string]string{"play.yaml": replies(t, filepath.Join(dir, "tasks"), prefix)})
	cmd := e2e.Batch(t, dir, "run", "--subset", "tasks", "-m", "scripted/play.yaml", "-o", "out", "--json")
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer e2e.Keep(filepath.Join(dir, "out"))()
	for lines := bufio.NewScanner(stdout); lines.Scan() && !strings.Contains(lines.Text(), `"phase":"verify"`); {
	}
	const inside = `until docker exec "$(docker ps -q --filter label=batch.instance="$1")" test -e /verified; do sleep 0.1; done`
	if err := exec.CommandContext(t.Context(), "timeout", "60", "bash", "-c", inside, "wait", prefix+"slow").Run(); err != nil {
		t.Errorf("waiting for the verifier: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if code, out := e2e.ExitCode(t, e2e.Batch(t, dir, "resume", "out")); code != e2e.ExitOK {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	r := e2e.Record(t, dir)
	if r.Grade == nil || r.Grade.Verdict != vocab.VerdictResolved || r.Resumed != 1 || r.Differences != 0 || r.Steps != 2 {
		t.Errorf("%+v, grade %+v; want it resolved, resumed once, with the two steps of before", r, r.Grade)
	}
}
