package talk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// What a program has done is not done again when batch is killed between its end and the record of that.
func TestAProgramsEndIsKept(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "internal/box/*.go")
	t.Parallel()
	for _, at := range []string{"journal.append:15=kill", "journal.append:17=kill"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			p := newPrograms(t, "/opt/own/agent", works)
			if code, out := p.run(t, "--inject", at); code != -1 {
				t.Fatalf("it was not killed: exit code %d\n%s", code, out)
			}
			code, out := p.run(t)
			rec := e2e.Record(t, p.dir)
			if n := len(p.stub.Requests()); code != 0 || n != 3 || rec.Steps != 2 || rec.Status != vocab.StatusSubmitted {
				t.Errorf("exit code %d, %d requests, %d steps, %s\n%s", code, n, rec.Steps, rec.Status, out)
			}
			if patch := e2e.Predictions(t, filepath.Join(p.dir, "out"))["demo__slug-1"]; !strings.Contains(patch, "+hello") {
				t.Errorf("the patch is\n%s", patch)
			}
		})
	}
}

// A program that does not end by itself at a limit gets SIGTERM, and can say what it has to. It was asked its version.
func TestAProgramIsAskedToEnd(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "internal/box/*.go")
	t.Parallel()
	p := newPrograms(t, `bash, -c, "trap 'echo a last word; exit 0' TERM; OWN_AGENT_STUBBORN=60 /opt/own/agent \"$@\" <<<task & wait", own`, works)
	code, out := p.run(t, "-c", "agent.step_limit=1", "-c", "agent.program.version=echo own 3.2; echo of today")
	rec := e2e.Record(t, p.dir)
	if manifest, err := os.ReadFile(filepath.Join(p.dir, "out", "manifest.json")); err != nil || rec.AgentVersion != "own 3.2" || !strings.Contains(string(manifest), `"own 3.2"`) {
		t.Errorf("%v, the version is %q", err, rec.AgentVersion)
	}
	log, err := os.ReadFile(filepath.Join(p.dir, "out", "demo__slug-1", "agent.log"))
	if err != nil || code != 0 || rec.Status != vocab.StatusLimitsExceeded || !strings.Contains(string(log), "    a last word\n") {
		t.Errorf("%v, exit code %d, %s\n%s\n%s", err, code, rec.Status, out, log)
	}
}

// An outage of the provider is not the program's failure.
func TestAProgramMeetsAnOutage(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "internal/box/*.go")
	t.Parallel()
	p := newPrograms(t, "/opt/own/agent", func(n int, r *stub.Request) stub.Answer {
		if n == 3 {
			return stub.Status(500)
		}
		return works(n, r)
	})
	code, out := p.run(t, "-c", "model.model_kwargs.num_retries=0", "--retry", "transient=2")
	rec := e2e.Record(t, p.dir)
	if code != 0 || rec.Status != vocab.StatusSubmitted || rec.Attempt != 2 {
		t.Errorf("%s: %s\n%s", rec.Status, rec.Error, out)
	}
}
