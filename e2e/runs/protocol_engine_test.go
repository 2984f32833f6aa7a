package runs

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/llm/anthropic"
	"batch.example/batch/llm/gemini"
	"batch.example/batch/llm/openai"
	"batch.example/batch/llm/responses"
	"batch.example/batch/llm/stub"
	"batch.example/batch/vocab"
)

// wire is a protocol as a run asks for it.
type wire struct {
	protocol  stub.Protocol
	model     string
	key, base string // variables
	args      []string
	env       []string // further variables
}

// wires are the four protocols, streamed where that is their default.
var wires = []wire{
	{stub.Chat, "openai/stub-1", openai.Protocol.KeyVariable, openai.Protocol.AddressVariable, nil, nil},
	{stub.Responses, "openai/responses/stub-1", responses.Protocol.KeyVariable, responses.Protocol.AddressVariable, nil, nil},
	{stub.Anthropic, "anthropic/stub-1", anthropic.Protocol.KeyVariable, anthropic.Protocol.AddressVariable, []string{"-c", `model.model_kwargs.thinking={"type":"enabled","budget_tokens":1024}`}, nil},
	{stub.Gemini, "gemini/stub-1", gemini.Protocol.KeyVariable, gemini.Protocol.AddressVariable, nil, nil},
}

// eachWire runs a test for all protocols at once.
func eachWire(t *testing.T, test func(*testing.T, wire)) {
	t.Helper()
	for _, w := range wires {
		t.Run(string(w.protocol), func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// command runs the program against a server, with a key.
func (w wire) command(t *testing.T, dir string, server *stub.Server, key string, args ...string) (string, int) {
	t.Helper()
	cmd := e2e.Batch(t, dir, args...)
	cmd.Env = append(cmd.Env, w.base+"="+server.Base(w.protocol), w.key+"="+key)
	cmd.Env = append(cmd.Env, w.env...)
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// run runs the instances of dir, with out as the run directory.
func (w wire) run(t *testing.T, dir string, server *stub.Server, args ...string) (string, int) {
	t.Helper()
	return w.command(t, dir, server, e2e.PlantedKey, slices.Concat(w.runArgs(), args)...)
}

func (w wire) runArgs() []string {
	return slices.Concat([]string{"run", "--subset", "rows.jsonl", "-m", w.model, "-o", "out", "-q", "-c", "model.litellm_model_registry=prices.json"}, w.args)
}

// wireRates are US dollars for a token.
const (
	inputRate, cachedRate, outputRate = 2e-6, 5e-7, 1e-5

	wirePrices = `{"MODEL": {"input_cost_per_token": 2e-6, "cache_read_input_token_cost": 5e-7, "output_cost_per_token": 1e-5}}`
)

// wireDir returns a directory with rows and prices.
func wireDir(t *testing.T, w wire) string {
	t.Helper()
	dir := t.TempDir()
	e2e.OwnRows(t, dir)
	prices := strings.Replace(wirePrices, "MODEL", strings.Replace(w.model, "responses/", "", 1), 1)
	if err := os.WriteFile(filepath.Join(dir, "prices.json"), []byte(prices), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// thoughtful thinks, in clear and sealed, and calls tools several at once.
func thoughtful(_ int, r *stub.Request) stub.Answer {
	n := r.Replies()
	commands := [][]string{
		{"echo one > work.txt", "wc -l work.txt", "echo 'caf\u00e9 <&>' >> work.txt"},
		{"cat work.txt", "false"},
		{"echo three >> work.txt; git add -N work.txt", "git diff > /tmp/patch.txt"},
		{"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat /tmp/patch.txt"},
	}[min(n, 3)]
	parts := []llm.Part{llm.Reasoning{Text: fmt.Sprintf("Thought %d: <b>\u2028 & so on.", n)}, llm.Reasoning{}}
	if n%2 == 0 {
		parts = append(parts, llm.Text{Text: "Let me see."})
	}
	for i, c := range commands {
		parts = append(parts, stub.BashCall(fmt.Sprintf("call_%d_%d", n, i), c))
	}
	return stub.Answer{Parts: parts, Usage: vocab.Usage{Input: 1000 + 100*int64(n), Cached: 400 * int64(n), Output: 50 + int64(n), Reasoning: 20}}
}

// A run that is killed between two calls and resumed sends byte for byte what an undisturbed
// one sends: the provider gets its own thoughts, signatures and calls back. The model sees nothing of
// what the shell prints before each output.
func TestAKilledRunContinuesWithItsReasoningInAllProtocols(t *testing.T) {
	tier.Rest(t, "llm", "attempt/session", "attempt/*.go", "journal", "results/*.go", "runner", "agent/*.go", "run/*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	eachWire(t, func(t *testing.T, w wire) {
		one := []string{"--slice", ":1", "-w", "1", "-c", "environment.env.LC_ALL=xx_YY.UTF-8"}
		calm, calmDir := stub.NewServerFunc(t, thoughtful), wireDir(t, w)
		if out, code := w.run(t, calmDir, calm, one...); code != e2e.ExitOK {
			t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitOK, out)
		}
		server, dir := stub.NewServerFunc(t, thoughtful), wireDir(t, w)
		if out, code := w.run(t, dir, server, append(one, "--inject", "model.call:3=kill")...); code != -1 {
			t.Fatalf("the run was not killed: exit code %d\n%s", code, out)
		}
		if n := len(server.Requests()); n != 2 {
			t.Fatalf("%d requests before the kill, want 2", n)
		}
		if out, code := w.command(t, dir, server, e2e.PlantedKey, "resume", "out", "-q"); code != e2e.ExitOK {
			t.Fatalf("exit code %d, want %d\n%s", code, e2e.ExitOK, out)
		}
		want, got := calm.Requests(), server.Requests()
		if len(want) != 4 || len(got) != 4 {
			t.Fatalf("%d requests, and %d of a run that was killed; want 4", len(want), len(got))
		}
		for i := range want {
			if string(got[i].Body) != string(want[i].Body) {
				t.Errorf("request %d is\n%s\nafter a kill, want\n%s", i+1, got[i].Body, want[i].Body)
			}
			if strings.Contains(string(got[i].Body), "cannot change locale") {
				t.Errorf("request %d has what the shell prints: %s", i+1, got[i].Body)
			}
		}
		checkThoughts(t, got[3])
		checkWireRecord(t, calmDir, 0)
		checkWireRecord(t, dir, 1)
		for _, p := range e2e.Predictions(t, filepath.Join(dir, "out")) {
			if !strings.Contains(p, "+one\n+caf\u00e9 <&>\n+three\n") {
				t.Errorf("the patch is %q, want each command's line in it once", p)
			}
		}
		noKey(t, filepath.Join(dir, "out"), "")
	})
}

// checkThoughts fails unless the last request has everything: the server refuses
// what was changed, and in some protocols allows what was left out.
func checkThoughts(t *testing.T, r *stub.Request) {
	t.Helper()
	thoughts, signatures, calls := 0, 0, 0
	for _, m := range r.Turns() {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Reasoning:
				thoughts++
				signatures += min(1, len(p.Opaque.Data))
			case llm.ToolCall:
				calls++
				signatures += min(1, len(p.Opaque.Data))
			}
		}
	}
	want := 6
	if r.Protocol == stub.Gemini { // signs calls, and has no sealed thoughts
		want = 3
	}
	if calls != 7 || thoughts != want || signatures != want {
		t.Errorf("%d calls, %d thoughts, %d signatures in the last request, want 7, %d, %d", calls, thoughts, signatures, want, want)
	}
}

// checkWireRecord checks what the only instance has cost.
func checkWireRecord(t *testing.T, dir string, resumed int) {
	t.Helper()
	r := e2e.Record(t, dir)
	// 1000 + 1100 + 1200 + 1300 tokens of input, 400 + 800 + 1200 of them cached, 50 + 51 + 52 + 53 of output.
	const want = (4600-2400)*inputRate + 2400*cachedRate + 206*outputRate
	if r.Status != vocab.StatusSubmitted || r.Attempt != 1 || r.Resumed != resumed || r.Steps != 4 || math.Abs(r.Cost-want) > 1e-9 {
		t.Errorf("%s, attempt %d, resumed %d, %d steps, cost %v; want %s, attempt 1, resumed %d, 4 steps, cost %v",
			r.Status, r.Attempt, r.Resumed, r.Steps, r.Cost, vocab.StatusSubmitted, resumed, want)
	}
	if u := (vocab.Usage{Input: 4600, Cached: 2400, Output: 206, Reasoning: 80}); r.Usage != u {
		t.Errorf("usage %+v, want %+v", r.Usage, u)
	}
}
