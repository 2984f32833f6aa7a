package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/llm/llmtest"
	"batch.example/batch/results"
	"batch.example/batch/vocab"
)

// ruinous is an agent that does something to its own container, and how it ends.
type ruinous struct {
	commands []string
	status   vocab.Status
	outcome  vocab.Outcome
	steps    int    // of one that does not submit
	told     string // to the model, or as the reason
}

var ruinousAgents = map[string]ruinous{
	"killer": {
		[]string{"kill -9 -1", "kill -9 -1", "kill -9 -1", "kill -9 -1", "kill -9 -1", "cat kept"},
		"Submitted", vocab.OutcomeSubmitted, 0, "",
	},
	"shell":   {[]string{"kill -9 $$", "kill -9 $$", "kill -9 $$", "kill -9 $$", "kill -9 1", "cat kept"}, "Submitted", vocab.OutcomeSubmitted, 0, ""},
	"delayed": {[]string{"(sleep 0.5; kill -9 -1) >/dev/null 2>&1 &", "sleep 3", "cat kept"}, "Submitted", vocab.OutcomeSubmitted, 0, ""},
	"memory":  {[]string{"x=x; while :; do x=$x$x; done", "kill -9 -1", "cat kept"}, "Submitted", vocab.OutcomeSubmitted, 0, "memory was used up"},
	"sh":      {[]string{"rm -f /bin/sh /usr/bin/sh", "cat kept"}, "Submitted", vocab.OutcomeSubmitted, 0, ""},
	"bash":    {[]string{"rm -f /bin/bash /usr/bin/bash", "kill -9 $$", "never"}, "EnvironmentDestroyed", vocab.OutcomeFailed, 3, "exec bash: no such file"},
	"late":    {[]string{"rm -f /bin/bash /usr/bin/bash", "sleep 60", "never"}, "EnvironmentDestroyed", vocab.OutcomeFailed, 3, "exec bash: no such file"},
	"all":     {[]string{"rm -rf /bin /lib64 /usr/bin /usr/lib64; kill -9 -1", "never"}, "EnvironmentDestroyed", vocab.OutcomeFailed, 3, "exec bash"},
}

// runRuinous runs the agents, each of which first writes a file and pays $0.25 a reply.
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
	cmd := batch(t.Context(), dir, append([]string{
		"run", "--subset", "rows.jsonl", "-m", "scripted/script.yaml", "-o", "out", "-w", "3", "-q", "--memory", "256m",
		"-c", "environment.timeout=10",
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

// What an agent does to its own container is shown to it where it can go on, and
// else is a result of its own: never a failure that is retried or paid for again.
func TestWhatAnAgentDoesToItsContainerIsItsOwnDoing(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	out, code, records := runRuinous(t, dir, ruinousAgents)
	if code != exitOK || !strings.Contains(out, "with a result 8/8") || !strings.Contains(out, "EnvironmentDestroyed") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	patches := predictions(t, filepath.Join(dir, "out"))
	for name, a := range ruinousAgents {
		r := records[name]
		steps := a.steps
		if steps == 0 {
			steps = len(a.commands) + 2
		}
		if r.Status != a.status || r.Outcome != a.outcome || r.Steps != steps || r.Cost != 0.25*float64(steps) || r.Attempt != 1 || r.Resumed != 0 {
			t.Errorf("%s: %+v", name, r)
		}
		patch, predicted := patches[r.InstanceID]
		if !predicted || strings.Contains(patch, "\n+kept\n") != (a.outcome == vocab.OutcomeSubmitted) {
			t.Errorf("%s: predicted %v, %q", name, predicted, patch)
		}
		traj, err := os.ReadFile(filepath.Join(dir, "out", r.InstanceID, r.InstanceID+".traj.json"))
		if err != nil || !strings.Contains(string(traj), a.told) || strings.Contains(string(traj), "infrastructure") {
			t.Errorf("%s: %v, the trajectory does not tell %q", name, err, a.told)
		}
	}
	// The same command again has nothing to do.
	cmd := batch(t.Context(), dir, "resume", "out", "-q")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "with a result 8/8") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, r := range records {
		if n := containersOf(t, r.InstanceID); n != 0 {
			t.Errorf("%d containers of %s are left", n, r.InstanceID)
		}
	}
}

// A container without bash cannot be taken over when batch is killed: in a fresh one
// the agent comes to the same end, and what was paid for is not paid for again.
func TestADestroyedContainerIsDestroyedAgainOnResume(t *testing.T) {
	needDocker(t)
	t.Parallel()
	server := llmtest.NewServerFunc(t, func(_ int, r *llmtest.Request) llmtest.Answer {
		return llmtest.Bash([]string{"echo here", "rm -f /bin/bash /usr/bin/bash", "never"}[r.Replies()])
	})
	dir, _, args := cherryRun(t)
	if out, code := runOpenAI(t, dir, server.URL, append(args, "--inject", "model.call:3=kill")...); code != -1 {
		t.Fatalf("it was not killed: %d\n%s", code, out)
	}
	if out, code := runOpenAI(t, dir, server.URL, args...); code != exitOK || len(server.Requests()) != 3 {
		t.Fatalf("exit code %d, %d requests for 3 steps\n%s", code, len(server.Requests()), out)
	}
	if r := record(t, dir); r.Status != "EnvironmentDestroyed" || r.Attempt != 1 || r.Resumed != 1 || r.Steps != 3 || r.Differences != 0 {
		t.Errorf("%+v", r)
	}
}

// An agent that fills its disk is stopped alone: it is told and may make room;
// when it does not, its attempt ends as its own result and its work is kept.
func TestAnAgentThatFillsItsDiskIsStoppedAlone(t *testing.T) {
	needDocker(t)
	t.Parallel()
	dir := t.TempDir()
	const fill = "head -c 300000000 /dev/zero > /tmp/big; sleep 60"
	agents := map[string]ruinous{
		"tidies": {[]string{fill, "rm /tmp/big", "true", "true", "true", "true"}, "Submitted", vocab.OutcomeSubmitted, 0, "more than the 128MiB that they may"},
		"stays":  {[]string{fill, "true", "true", "true", "never"}, "EnvironmentDestroyed", vocab.OutcomeFailed, 6, "stayed above its disk limit"},
		"other":  {[]string{"sleep 10"}, "Submitted", vocab.OutcomeSubmitted, 0, ""},
	}
	out, code, records := runRuinous(t, dir, agents, "--disk", "128MiB", "--salvage", "-c", "environment.timeout=50")
	if code != exitOK || !strings.Contains(out, "with a result 3/3") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	patches := predictions(t, filepath.Join(dir, "out"))
	for name, a := range agents {
		r := records[name]
		if r.Status != a.status || r.Outcome != a.outcome || r.Attempt != 1 || r.Salvaged != (a.steps > 0) || a.steps > 0 && r.Steps != a.steps {
			t.Errorf("%s: %+v", name, r)
		}
		if patch := patches[r.InstanceID]; !strings.Contains(patch, "\n+kept\n") {
			t.Errorf("%s: the work is not there: %q", name, patch)
		}
		traj, err := os.ReadFile(filepath.Join(dir, "out", r.InstanceID, r.InstanceID+".traj.json"))
		if err != nil || !strings.Contains(string(traj), a.told) || strings.Contains(string(traj), "more than the 128MiB") != (a.told != "") {
			t.Errorf("%s: %v, the trajectory does not tell %q", name, err, a.told)
		}
	}
}
