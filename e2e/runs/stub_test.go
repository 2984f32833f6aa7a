package runs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/llm/catalogue"
)

// stubProcess is a running `batch stub`.
type stubProcess struct {
	cmd     *exec.Cmd
	exports map[string]string // the variables that it prints
	run     string            // the command that it prints
	out     *bufio.Reader
	stderr  *bytes.Buffer
}

// startStub runs `batch stub` in dir and reads what it prints before it serves.
func startStub(t *testing.T, dir string, args ...string) *stubProcess {
	t.Helper()
	s := &stubProcess{cmd: e2e.Batch(t, dir, append([]string{"stub"}, args...)...), exports: map[string]string{}, stderr: &bytes.Buffer{}}
	s.cmd.Stderr = s.stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	variable := regexp.MustCompile(`([A-Z_]+)=(\S+)`)
	for s.run == "" {
		line, err := s.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v before the stub served: %s", err, s.stderr)
		}
		for _, m := range variable.FindAllStringSubmatch(line, -1) {
			s.exports[m[1]] = m[2]
		}
		if strings.HasPrefix(line, "batch run ") {
			s.run = strings.TrimSpace(line)
		}
	}
	return s
}

// stop interrupts the stub and returns what it prints then.
func (s *stubProcess) stop(t *testing.T) string {
	t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(s.out)
	if err := errors.Join(err, s.cmd.Wait()); err != nil {
		t.Errorf("the interrupted stub ended with %v, want success: %s", err, s.stderr)
	}
	return string(rest)
}

// Each protocol gets the replies of its instance in order, and a reply that the agent cannot use is not in
// the conversation that it sends next.
func TestTheStubAnswersByScriptInAllProtocols(t *testing.T) {
	tier.Rest(t, "llm/stub", "llm/scripted", "cmd/batch/stub*.go")
	t.Parallel()
	dir := t.TempDir()
	e2e.WriteFiles(t, dir, map[string]string{
		"rows.jsonl": `{"instance_id": "a__1", "problem_statement": "the first problem"}
{"instance_id": "a__2", "problem_statement": "the second problem"}
`,
		"replies.yaml": `a__1: [{content: one, bash: ls}, "Is that right?", {content: two, bash: pwd}]
a__2: [one of a2]
`,
	})
	s := startStub(t, dir, "--subset", "rows.jsonl", "--script", "replies.yaml", "--latency", "0s..1ms", "--shuffle", "--seed", "7")
	if want := "batch run --subset rows.jsonl --shuffle --seed 7 -m openai/stub -c model.cost_tracking=ignore_errors -o runs/stub"; s.run != want {
		t.Errorf("printed %q, want %q", s.run, want)
	}
	for _, name := range []string{"openai/stub", "openai/responses/stub", "anthropic/claude-stub", "gemini/gemini-stub"} {
		found, err := catalogue.Find(catalogue.Config{Model: name, Getenv: func(name string) string { return s.exports[name] }})
		if err != nil {
			t.Fatal(err)
		}
		models, err := found.Each()
		if err != nil {
			t.Fatal(err)
		}
		for _, tools := range [][]llm.Tool{nil, {{Name: "bash", Parameters: []byte(`{"type":"object"}`)}}} {
			ask := func(req *llm.Request, want string) llm.Message {
				resp, err := models[0].Generate(t.Context(), req)
				if err != nil || !strings.HasPrefix(resp.Message.Text(), want) {
					t.Fatalf("%s, tools %v: answered %+v, %v; want %q", name, tools, resp, err, want)
				}
				return resp.Message
			}
			user := func(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Parts: llm.Say(text)} }
			req := &llm.Request{Tools: tools, Messages: []llm.Message{user("Please solve:\n\nthe first problem\n")}}
			first := ask(req, "one")
			req.Messages = append(req.Messages, user("That was spoiled on its way."))
			ask(req, "one")
			output := user("a file")
			if calls := first.ToolCalls(); len(calls) > 0 {
				output = llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: calls[0].ID, Parts: output.Parts}}}
			}
			req.Messages = append(req.Messages, first, output)
			ask(req, "Is that right?")
			req.Messages = append(req.Messages, user("There was no command."))
			last := ask(req, "two")
			if calls := last.ToolCalls(); len(calls) > 0 {
				output = llm.Message{Role: llm.RoleTool, Parts: []llm.Part{llm.ToolResult{CallID: calls[0].ID, Parts: llm.Say("a folder")}}}
			}
			req.Messages = append(req.Messages, last, output)
			if _, err := models[0].Generate(t.Context(), req); err == nil || !strings.Contains(err.Error(), "no reply left for a__1 after 3") {
				t.Errorf("%s, tools %v: one more call ended with %v, want that no reply is left", name, tools, err)
			}
		}
	}
	resp, err := http.Post(s.exports["OPENAI_BASE_URL"]+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := s.stop(t); !strings.Contains(got, "40 requests answered, 0 refused by --rpm, --tpm and --outage, 1 against") {
		t.Errorf("printed %q, want 40 requests answered, 1 against the rules", got)
	}
	if !strings.Contains(s.stderr.String(), "refused: messages: expected at least one") {
		t.Errorf("standard error %q, want the rule that was broken", s.stderr)
	}
}

// The command that the stub prints is run as it stands, with the variables that it prints.
func TestASweepOverTheStubIsLikeOneOfTheScript(t *testing.T) {
	tier.Rest(t, "llm/stub", "llm/scripted", "cmd/batch/stub*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	s := startStub(t, dir, "--slice", "1:5:3", "--rpm", "600", "--outage", "300ms/2s", "--fault", "429:10%", "--latency", "1ms..20ms")
	cmd := e2e.Batch(t, dir, strings.Fields(s.run)[1:]...)
	for name, value := range s.exports {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", s.run, err, out)
	}
	t.Logf("%v, %s", time.Since(begun), s.stop(t))
	want := e2e.Batch(t, dir, "run", "--subset", "demo", "--slice", "1:5:3", "-m", "scripted/demo", "-o", "runs/script")
	if out, err := want.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, expected := e2e.Predictions(t, dir+"/runs/stub"), e2e.Predictions(t, dir+"/runs/script")
	for id, patch := range expected {
		if got[id] != patch || patch == "" {
			t.Errorf("%s: the patch over HTTP is\n%s\nwant\n%s", id, got[id], patch)
		}
	}
	if len(expected) != 2 {
		t.Errorf("%d predictions, want 2", len(expected))
	}
}
