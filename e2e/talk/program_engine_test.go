package talk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// programs is a folder in which batch runs a program as the agent, and its provider.
type programs struct {
	dir  string
	stub *stub.Server
}

// ownAgent is the configuration of a program that is built for these tests.
const ownAgent = `agent:
  instance_template: "Do this: {{ task }}"
  program:
    command: [%s, "{{ url }}", "{{ key }}", "{{ model }}"]
    env: {OWN_AGENT_HOME: "{{ home }}/own"}
    stdin: "{{ task }}"
    wire: messages
    leaves: [.own]
environment:
  run_args: [-v, "%s:/opt/own:ro"]
`

func newPrograms(t *testing.T, command string, next func(n int, r *stub.Request) stub.Answer) *programs {
	t.Helper()
	e2e.NeedDocker(t)
	p := &programs{dir: t.TempDir(), stub: stub.NewServerFunc(t, next)}
	bin := filepath.Join(p.dir, "bin")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "agent"), "./agentprogram")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	e2e.WriteFiles(t, p.dir, map[string]string{"own.yaml": fmt.Sprintf(ownAgent, command, bin)})
	return p
}

// run runs batch on one instance of the demo.
func (p *programs) run(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := e2e.Batch(t, p.dir, append([]string{
		"run", "--subset", "demo", "-m", "anthropic/claude-sonnet-4-5", "-c", "default", "-c", "own.yaml", "-o", "out", "-q", "demo__slug-1",
	}, args...)...)
	cmd.Env = append(cmd.Env, "ANTHROPIC_BASE_URL="+strings.TrimSuffix(p.stub.URL, "/v1"), "ANTHROPIC_API_KEY="+e2e.PlantedKey)
	return e2e.ExitCode(t, cmd)
}

// works answers as a model that edits a file and ends, and gives each call a title if it asks for one.
func works(_ int, r *stub.Request) stub.Answer {
	a := e2e.WorkAndSubmit(r)
	if len(r.Tools) == 0 {
		a = stub.Text("A title")
	}
	a.Usage = vocab.Usage{Input: 1000, Output: 100}
	return a
}

// A program in the container is the agent: its calls are steps, within the limits, and what it changed is
// submitted.
func TestAProgramIsTheAgent(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "internal/box/*.go")
	t.Parallel()
	p := newPrograms(t, "/opt/own/agent", works)
	if code, out := p.run(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	patch := e2e.Predictions(t, filepath.Join(p.dir, "out"))["demo__slug-1"]
	if !strings.Contains(patch, "+hello") || strings.Contains(patch, ".own") {
		t.Errorf("the patch is\n%s", patch)
	}
	rec := e2e.Record(t, p.dir)
	// 3 calls of 1000 and 100 tokens, at $3 and $15 a million.
	if rec.Status != vocab.StatusSubmitted || rec.Steps != 2 || fmt.Sprintf("%.4f", rec.Cost) != "0.0135" {
		t.Errorf("%s, %d steps, $%g", rec.Status, rec.Steps, rec.Cost)
	}
	requests := p.stub.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	for _, r := range requests {
		if r.Model != "claude-sonnet-4-5" || strings.Contains(string(r.Body), "web_search") || r.Header.Get("Anthropic-Beta") != "a-feature" {
			t.Errorf("asked for %s, %s", r.Model, r.Body)
		}
	}
	if task := requests[1].Task(); !strings.HasPrefix(task, "Do this: ") {
		t.Errorf("the task was %.80q", task)
	}
	noKey(t, p.dir)
	if log, err := os.ReadFile(filepath.Join(p.dir, "out", "demo__slug-1", "agent.log")); err != nil || !strings.Contains(string(log), "    the work is done\n") {
		t.Errorf("%v; the program's output is not in the log:\n%s", err, log)
	}
	if n := e2e.ContainersOf(t, "demo__slug-1"); n > 0 { // of this run or another test's
		t.Logf("%d containers of other tests", n)
	}
	code, out := e2e.ExitCode(t, e2e.Batch(t, p.dir, "show", "out", "demo__slug-1"))
	if code != 0 || !strings.Contains(out, "hello.txt") {
		t.Errorf("show: %d\n%s", code, out)
	}
}

// noKey looks for the provider's key in all files.
func noKey(t *testing.T, dir string) {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), "grep", "-rl", e2e.PlantedKey, dir).Output()
	if len(out) > 0 {
		t.Errorf("the provider's key is in\n%s", out)
	}
}

// A program goes on when batch is killed, and the next process continues with it: nothing is paid that is not
// in the bill, and no step is lost.
func TestAProgramOutlivesBatch(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "internal/box/*.go")
	t.Parallel()
	for _, at := range []string{"model.call:2=kill", "model.answer:2=kill", "model.answer:3=kill", "journal.append:12=kill", "journal.sync:6=kill"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			p := newPrograms(t, "/opt/own/agent", works)
			if code, out := p.run(t, "--inject", at); code != -1 {
				t.Fatalf("it was not killed: exit code %d\n%s", code, out)
			}
			if code, out := p.run(t); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			rec := e2e.Record(t, p.dir)
			if rec.Status != vocab.StatusSubmitted || rec.Steps != 2 || rec.Attempt != 1 || rec.Resumed != 1 {
				t.Errorf("%s, %d steps, attempt %d, resumed %d times", rec.Status, rec.Steps, rec.Attempt, rec.Resumed)
			}
			if patch := e2e.Predictions(t, filepath.Join(p.dir, "out"))["demo__slug-1"]; !strings.Contains(patch, "+hello") {
				t.Errorf("the patch is\n%s", patch)
			}
			const answered = 3
			// A call that was under way when batch was killed is lost, and may not have reached the provider.
			if n := len(p.stub.Requests()); n < answered || n > answered+rec.Lost || rec.Lost > 1 {
				t.Errorf("%d requests, of which the bill has %d and %d lost ones", n, answered, rec.Lost)
			}
		})
	}
}

// A program that ends badly while no process of batch answers it has not failed: the instance begins again.
func TestAProgramThatLosesPatienceBeginsAgain(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "internal/box/*.go")
	t.Parallel()
	p := newPrograms(t, "env, OWN_AGENT_TRIES=1, /opt/own/agent", works)
	if code, out := p.run(t, "--inject", "model.call:3=kill"); code != -1 {
		t.Fatalf("it was not killed: exit code %d\n%s", code, out)
	}
	if code, out := p.run(t); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	rec := e2e.Record(t, p.dir)
	if rec.Status != vocab.StatusSubmitted || rec.Steps != 2 || rec.Attempt != 2 {
		t.Errorf("%s, %d steps, attempt %d", rec.Status, rec.Steps, rec.Attempt)
	}
}

// At a limit the program is told so once, and ended; what it did so far is kept. A call that may cost more than
// is left gets a shorter answer, and is not made if that is too short: at $15 a million tokens, 0.068 dollars are
// 4,533 tokens.
func TestAProgramMeetsALimit(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "internal/box/*.go")
	t.Parallel()
	for limit, status := range map[string]vocab.Status{
		"agent.step_limit=1": vocab.StatusLimitsExceeded, "agent.cost_limit=0.068": vocab.StatusLimitsExceeded,
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			p := newPrograms(t, "/opt/own/agent", works)
			if code, out := p.run(t, "-c", limit, "--salvage"); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			rec := e2e.Record(t, p.dir)
			for _, r := range p.stub.Requests() {
				most, err := strconv.Atoi(string(r.Members["max_tokens"]))
				if lowered := most < 8192; err != nil || lowered != strings.HasPrefix(limit, "agent.cost") {
					t.Errorf("the answer may have %d tokens, %v", most, err)
				}
			}
			if n := len(p.stub.Requests()); rec.Status != status || rec.Steps != 1 || n != 2 || !rec.Salvaged {
				t.Errorf("%s, %d steps, %d requests, salvaged %t", rec.Status, rec.Steps, n, rec.Salvaged)
			}
		})
	}
}

// A program that makes no call is not the model's failure; one that fails after a call is.
func TestAProgramThatFails(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "internal/box/*.go")
	t.Parallel()
	var calls atomic.Int64
	for command, want := range map[string]vocab.Status{
		"/no/such/agent": vocab.StatusTransientFault,
		`bash, -c, "/opt/own/agent \"$@\" | head -c 0; kill -9 $$", own`: vocab.StatusProgramFailed,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			p := newPrograms(t, command, func(n int, r *stub.Request) stub.Answer {
				calls.Add(1)
				return works(n, r)
			})
			_, out := p.run(t, "--retry", "transient=0")
			rec := e2e.Record(t, p.dir)
			if rec.Status != want {
				t.Errorf("%s: %s\n%s", rec.Status, rec.Error, out)
			}
		})
	}
}

// A model whose endpoint speaks another protocol is refused before anything begins.
func TestAProgramAndItsModelSpeakOneProtocol(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e2e.WriteFiles(t, dir, map[string]string{"own.yaml": fmt.Sprintf(ownAgent, "/opt/own/agent", dir)})
	code, out := e2e.ExitCode(t, e2e.Batch(t, dir, "run", "--subset", "demo", "-m", "oracle", "-c", "default", "-c", "own.yaml", "-o", "out"))
	if _, err := os.Stat(filepath.Join(dir, "out")); code != e2e.ExitUsage || err == nil || !strings.Contains(out, "by the protocol messages") {
		t.Errorf("exit code %d, %v\n%s", code, err, out)
	}
}
