package faults

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/llm/stub"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// ruinous is an agent that damages its own container, and how its attempt ends.
type ruinous struct {
	commands []string
	status   vocab.Status
	outcome  vocab.Outcome
	steps    int    // of an attempt that does not submit
	told     string // text in the trajectory: an observation or the reason
}

var ruinousAgents = map[string]ruinous{
	"killer": {
		[]string{"kill -9 -1", "kill -9 -1", "kill -9 -1", "kill -9 -1", "kill -9 -1", "cat kept"},
		"Submitted", vocab.OutcomeSubmitted, 0, "",
	},
	"shell":   {[]string{"kill -9 $$", "kill -9 $$", "kill -9 $$", "kill -9 $$", "kill -9 1", "cat kept"}, "Submitted", vocab.OutcomeSubmitted, 0, ""},
	"delayed": {[]string{"(sleep 0.5; kill -9 -1) >/dev/null 2>&1 &", "sleep 3", "cat kept"}, "Submitted", vocab.OutcomeSubmitted, 0, ""},
	"memory":  {[]string{"x=x; while :; do x=$x$x; done", "kill -9 -1", "cat kept"}, "Submitted", vocab.OutcomeSubmitted, 0, "ran out of memory"},
	"sh":      {[]string{"rm -f /bin/sh /usr/bin/sh", "cat kept"}, "Submitted", vocab.OutcomeSubmitted, 0, ""},
	"bash":    {[]string{"rm -f /bin/bash /usr/bin/bash", "kill -9 $$", "never"}, "EnvironmentDestroyed", vocab.OutcomeFailed, 3, "exec bash: no such file"},
	"late":    {[]string{"rm -f /bin/bash /usr/bin/bash", "sleep 60", "never"}, "EnvironmentDestroyed", vocab.OutcomeFailed, 3, "exec bash: no such file"},
	"all":     {[]string{"rm -rf /bin /lib64 /usr/bin /usr/lib64; kill -9 -1", "never"}, "EnvironmentDestroyed", vocab.OutcomeFailed, 3, "exec bash"},
}

// runRuinous runs the agents. Each first writes a file, and pays $0.25 a reply.
func runRuinous(t *testing.T, dir string, agents map[string]ruinous, args ...string) (out string, code int, byName map[string]results.Record) {
	t.Helper()
	prefix := "ruin-" + strings.ToLower(rand.Text()[:8]) + "__"
	var rows strings.Builder
	script := map[string][]any{}
	for name, a := range agents {
		id := prefix + name
		fmt.Fprintf(&rows, `{"instance_id":%q,"problem_statement":"p","image_name":"batch-demo/demo__slug-1:latest"}`+"\n", id)
		for _, c := range append(append([]string{"echo kept > kept; git add -N kept"}, a.commands...), "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; git diff") {
			script[id] = append(script[id], map[string]any{"bash": c, "cost": 0.25})
		}
	}
	text, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"rows.jsonl": rows.String(), "script.yaml": string(text)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := e2e.Batch(t, dir, append([]string{
		"run", "--subset", "rows.jsonl", "-m", "scripted/script.yaml", "-o", "out", "-w", "3", "-q", "--memory", "256m",
		"-c", "environment.timeout=120",
	}, args...)...)
	said, _ := cmd.CombinedOutput()
	snap, err := results.Read(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	byName = map[string]results.Record{}
	for id, r := range results.Latest(snap.Records) {
		byName[strings.TrimPrefix(id, prefix)] = r
	}
	return string(said), cmd.ProcessState.ExitCode(), byName
}

// Damage that an agent does to its own container is shown to it if it can continue, and
// is its own result if not: never a failure that is retried or paid for again.
func TestAnAgentThatDamagesItsContainerGetsAResult(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	out, code, records := runRuinous(t, dir, ruinousAgents)
	if code != e2e.ExitOK || !strings.Contains(out, "8 of 8 instances have a result") || !strings.Contains(out, "EnvironmentDestroyed") {
		t.Errorf("exit code %d, want %v, %q in the output, %q in the output\n%s",
			code, e2e.ExitOK, "8 of 8 instances have a result", "EnvironmentDestroyed", out)
	}
	patches := e2e.Predictions(t, filepath.Join(dir, "out"))
	for name, a := range ruinousAgents {
		r := records[name]
		steps := a.steps
		if steps == 0 {
			steps = len(a.commands) + 2
		}
		if r.Status != a.status || r.Outcome != a.outcome || r.Steps != steps || r.Cost != 0.25*float64(steps) || r.Attempt != 1 || r.Resumed != 0 {
			t.Errorf("%s: got %+v, want status %v, outcome %v, steps %v, cost %v, attempt 1, resumed 0",
				name, r, a.status, a.outcome, steps, 0.25*float64(steps))
		}
		patch, predicted := patches[r.InstanceID]
		if !predicted || strings.Contains(patch, "\n+kept\n") != (a.outcome == vocab.OutcomeSubmitted) {
			t.Errorf("%s: predicted %v, patch %q; want a prediction, with the kept file only if submitted", name, predicted, patch)
		}
		traj, err := os.ReadFile(filepath.Join(dir, "out", r.InstanceID, r.InstanceID+".traj.json"))
		if err != nil || !strings.Contains(string(traj), a.told) || strings.Contains(string(traj), "infrastructure") {
			t.Errorf("%s: %v, the trajectory lacks %q or blames the infrastructure", name, err, a.told)
		}
	}
	// The same command run again has nothing to do.
	cmd := e2e.Batch(t, dir, "resume", "out", "-q")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "8 of 8 instances have a result") {
		t.Errorf("got %v, want %q in the output, no error\n%s", err, "8 of 8 instances have a result", out)
	}
	for _, r := range records {
		if n := e2e.ContainersOf(t, r.InstanceID); n != 0 {
			t.Errorf("%d containers of %s are left", n, r.InstanceID)
		}
	}
}

// A container without bash cannot be taken over when batch is killed: in a new one
// the agent comes to the same end, and paid replies are not paid for again.
func TestADestroyedContainerIsDestroyedAgainOnResume(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		return stub.Bash([]string{"echo here", "rm -f /bin/bash /usr/bin/bash", "never"}[r.Replies()])
	})
	dir, args := cherryRun(t)
	if out, code := e2e.RunOpenAI(t, dir, server.URL, append(args, "--inject", "model.call:3=kill")...); code != -1 {
		t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
	}
	if out, code := e2e.RunOpenAI(t, dir, server.URL, args...); code != e2e.ExitOK || len(server.Requests()) != 3 {
		t.Fatalf("exit code %d, %d requests for 3 steps\n%s", code, len(server.Requests()), out)
	}
	if r := e2e.Record(t, dir); r.Status != "EnvironmentDestroyed" || r.Attempt != 1 || r.Resumed != 1 || r.Steps != 3 || r.Differences != 0 {
		t.Errorf("got %+v, want status %q, attempt 1, resumed 1, steps 3, differences 0", r, "EnvironmentDestroyed")
	}
}

// An agent that fills its disk does not affect others: it is informed and may free space;
// if it does not, its attempt ends with its own result and its work is kept.
func TestAnAgentThatFillsItsDiskDoesNotAffectOthers(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	const fill = "head -c 300000000 /dev/zero > /tmp/big; sleep 600"
	agents := map[string]ruinous{
		"tidies": {[]string{fill, "rm /tmp/big", "true", "true", "true", "true"}, "Submitted", vocab.OutcomeSubmitted, 0, "more than the limit of 128MiB"},
		"stays":  {[]string{fill, "true", "true", "true", "never"}, "EnvironmentDestroyed", vocab.OutcomeFailed, 6, "stayed above its disk limit"},
		"other":  {[]string{"sleep 10"}, "Submitted", vocab.OutcomeSubmitted, 0, ""},
	}
	out, code, records := runRuinous(t, dir, agents, "--disk", "128MiB", "--salvage")
	if code != e2e.ExitOK || !strings.Contains(out, "3 of 3 instances have a result") {
		t.Errorf("exit code %d, want %v, %q in the output\n%s", code, e2e.ExitOK, "3 of 3 instances have a result", out)
	}
	patches := e2e.Predictions(t, filepath.Join(dir, "out"))
	for name, a := range agents {
		r := records[name]
		if r.Status != a.status || r.Outcome != a.outcome || r.Attempt != 1 || r.Salvaged != (a.steps > 0) || a.steps > 0 && r.Steps != a.steps {
			t.Errorf("%s: got %+v, want status %v, outcome %v, attempt 1, salvaged %v, %d steps unless that is 0",
				name, r, a.status, a.outcome, (a.steps > 0), a.steps)
		}
		if patch := patches[r.InstanceID]; !strings.Contains(patch, "\n+kept\n") {
			t.Errorf("%s: the patch %q lacks the kept file", name, patch)
		}
		traj, err := os.ReadFile(filepath.Join(dir, "out", r.InstanceID, r.InstanceID+".traj.json"))
		if err != nil || !strings.Contains(string(traj), a.told) || strings.Contains(string(traj), "the limit of 128MiB") != (a.told != "") {
			t.Errorf("%s: %v, the trajectory lacks %q", name, err, a.told)
		}
	}
}
