package talk

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/run/doctor"
	"batch.example/batch/run/rundir"
)

// claude stands for a program of the built-in configurations: it takes from the environment what they set.
const claude = `#!/bin/bash
[ "$1" != --version ] || exec echo 2.1.0
exec /opt/own/agent "$ANTHROPIC_BASE_URL" "$ANTHROPIC_API_KEY" "$ANTHROPIC_MODEL"
`

// Doctor runs a program against a provider that it plays, and says which promises hold with it.
func TestDoctorTriesTheAgentOfAConfiguration(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "run/doctor/*.go", "llm/stub/*.go")
	t.Parallel()
	const all = "start ok, step ok, end ok, user ok, patch ok, resume ok, limit ok"
	for name, tt := range map[string]struct {
		command string
		args    []string
		want    string // the checks with their states
		said    string
	}{
		"works":       {"/opt/own/agent", nil, all, "its commands run as root"},
		"in an image": {"/opt/own/agent", []string{"--image", "batch-demo/demo__winini-2:latest"}, all, "sent the same request"},
		"a preset": {
			"/opt/own/agent",
			[]string{"-c", "claude-code", "-c", `environment.run_args=["-v","BIN:/opt/own:ro","-v","BIN/claude:/usr/local/bin/claude:ro"]`},
			all, "with its tool bash",
		},
		"not its fault": {"/opt/own/agent", []string{"-c", `environment.run_args=["-v","BIN:/opt/own:ro","--user","1234"]`}, "", "trying the program: preparing the repository"},
		"is not there":  {"/no/such/agent", nil, "start FAIL", "/no/such/agent: No such file"},
		"leaves files":  {`bash, -c, "touch left; exec /opt/own/agent \"$@\"", own`, nil, strings.Replace(all, "patch ok", "patch warn", 1), "left"},
		"fails":         {`bash, -c, "/opt/own/agent \"$@\"; exit 3", own`, nil, strings.NewReplacer("end ok, user ok, patch ok", "end FAIL", "resume ok", "resume FAIL").Replace(all), "exit code 3"},
		"no patience": {
			"/opt/own/agent",
			[]string{"-c", "agent.program.env.OWN_AGENT_TRIES=1"},
			strings.Replace(all, "resume ok", "resume FAIL", 1), "did not ask again",
		},
		"asks after a refusal": {
			"/opt/own/agent",
			[]string{"-c", "agent.program.env.OWN_AGENT_STUBBORN=3"},
			strings.Replace(all, "limit ok", "limit warn", 1), "asked 2 times more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrograms(t, tt.command, works)
			args := []string{"doctor", "--agent", "own.yaml", "--json"}
			for _, a := range tt.args {
				args = append(args, strings.ReplaceAll(a, "BIN", p.dir+"/bin"))
			}
			e2e.WriteFiles(t, p.dir, map[string]string{"bin/claude": claude})
			if err := os.Chmod(filepath.Join(p.dir, "bin", "claude"), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := e2e.Batch(t, p.dir, args...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, _ := cmd.Output()
			if tt.want == "" {
				if code := cmd.ProcessState.ExitCode(); code != e2e.ExitFailed || len(out) > 0 || !strings.Contains(stderr.String(), tt.said) {
					t.Errorf("exit code %d, %q, want %q in %s", code, out, tt.said, stderr.String())
				}
				return
			}
			var found struct {
				Checks []doctor.Check
				Failed int
			}
			if err := json.Unmarshal(out, &found); err != nil {
				t.Fatalf("%v: %s%s", err, out, stderr.String())
			}
			var got []string
			text := ""
			for _, c := range found.Checks {
				got = append(got, c.Name+" "+string(c.State))
				text += c.Text + "\n"
			}
			if strings.Join(got, ", ") != tt.want || !strings.Contains(text, tt.said) {
				t.Errorf("got %q, want %q and %q in\n%s%s", strings.Join(got, ", "), tt.want, tt.said, text, stderr.String())
			}
			if code := cmd.ProcessState.ExitCode(); code != min(1, strings.Count(tt.want, "FAIL")) || code != min(1, found.Failed) {
				t.Errorf("exit code %d", code)
			}
			if n := len(p.stub.Requests()); n > 0 {
				t.Errorf("%d requests reached a provider", n)
			}
		})
	}
}

// An interrupted trial leaves no container and no folder.
func TestDoctorIsInterrupted(t *testing.T) {
	tier.Rest(t, "run/doctor/*.go", "cmd/batch/doctor.go")
	t.Parallel()
	p := newPrograms(t, "sleep, 1000", works)
	cmd := e2e.Batch(t, p.dir, "doctor", "--agent", "own.yaml")
	temp, engine := t.TempDir(), e2e.Connect(t)
	cmd.Env = append(cmd.Env, "TMPDIR="+temp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lease := ""
	containers := func() (n int) {
		owned, err := engine.Owned(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range owned {
			if c.Lease == lease && c.State == "running" {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(e2e.Patience); ; time.Sleep(100 * time.Millisecond) {
		if trials, _ := filepath.Glob(filepath.Join(temp, "batch-doctor-*", "works")); len(trials) > 0 {
			lease = rundir.Lease(trials[0])
			if containers() > 0 {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatal("there is no container")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	left, err := os.ReadDir(temp)
	if code := cmd.ProcessState.ExitCode(); code != e2e.ExitInterrupted || err != nil || len(left) > 0 {
		t.Errorf("exit code %d, %v, left %v", code, err, left)
	}
	if n := containers(); n > 0 {
		t.Errorf("%d containers are left", n)
	}
}

// Doctor refuses what is no agent, before it starts anything.
func TestDoctorNeedsAProgram(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"default": "has no agent.program", "gone.yaml": "no such file", "agent.program.wire=morse": "has no command",
	} {
		cmd := e2e.Batch(t, t.TempDir(), "doctor", "--agent", agent)
		if code, out := e2e.ExitCode(t, cmd); code != e2e.ExitUsage || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, want %q in\n%s", agent, code, want, out)
		}
	}
	cmd := e2e.Batch(t, t.TempDir(), "doctor", "--image", "x")
	if code, out := e2e.ExitCode(t, cmd); code != e2e.ExitUsage || !strings.Contains(out, "--image is for --agent") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
