package talk

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// wiresAgent is the configuration of a program that speaks the protocol that it is told.
const wiresAgent = `agent:
  instance_template: "Do this: {{ task }}"
  program:
    command: [/opt/own/agent, %[1]s, "{{ url }}", "{{ key }}", "{{ model }}"]
    stdin: "{{ task }}"
    wire: %[1]s
environment:
  run_args: [-v, "%[2]s:/opt/own:ro"]
`

// A program in the container speaks each protocol: what it sends reaches the provider as it is, and its
// conversation is recorded as one that grows.
func TestAProgramSpeaksEachProtocol(t *testing.T) {
	tier.Rest(t, "gateway/*.go", "attempt/program.go", "agent/program.go", "llm/inbound/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "agent"), "./agentwires")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for wire, model := range map[string]string{"chat": "openai/gpt-4.1", "responses": "openai/responses/gpt-5", "gemini": "gemini/gemini-3.1-pro-preview"} {
		t.Run(wire, func(t *testing.T) {
			dir := t.TempDir()
			provider := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
				a := e2e.WorkAndSubmit(r)
				a.Reasoning, a.Usage = "I look.", vocab.Usage{Input: 1000, Output: 100}
				return a
			})
			e2e.WriteFiles(t, dir, map[string]string{"own.yaml": fmt.Sprintf(wiresAgent, wire, bin)})
			cmd := e2e.Batch(t, dir, "run", "--subset", "demo", "-m", model, "-c", "default", "-c", "own.yaml", "-o", "out", "-q", "demo__slug-1")
			cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+provider.URL, "OPENAI_API_KEY="+e2e.PlantedKey,
				"GEMINI_API_BASE="+provider.Base(stub.Gemini), "GEMINI_API_KEY="+e2e.PlantedKey)
			if code, out := e2e.ExitCode(t, cmd); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			rec := e2e.Record(t, dir)
			if rec.Status != vocab.StatusSubmitted || rec.Steps != 2 || rec.Cost <= 0 {
				t.Errorf("%s, %d steps, $%g", rec.Status, rec.Steps, rec.Cost)
			}
			if patch := e2e.Predictions(t, filepath.Join(dir, "out"))["demo__slug-1"]; !strings.Contains(patch, "+hello") {
				t.Errorf("the patch is\n%s", patch)
			}
			for _, r := range provider.Requests() {
				if !strings.HasSuffix(model, "/"+r.Model) || strings.Contains(string(r.Body), "web_search") || strings.Contains(string(r.Body), "googleSearch") {
					t.Errorf("asked for %s, %s", r.Model, r.Body)
				}
			}
			grows(t, filepath.Join(dir, "out", "demo__slug-1", "demo__slug-1.traj.json"))
			noKey(t, dir)
		})
	}
}

// grows checks that a trajectory has each message once, in order.
func grows(t *testing.T, file string) {
	t.Helper()
	var trajectory struct{ Messages []llm.Message }
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &trajectory)
	}
	if err != nil {
		t.Fatal(err)
	}
	roles := ""
	for _, m := range trajectory.Messages {
		roles += m.Role + " "
	}
	if want := "system user assistant tool assistant exit "; roles != want {
		t.Errorf("the trajectory has the roles %s, want %s", roles, want)
	}
}
