package talk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/llm/stub"
)

// served is a process of `batch serve`.
type served struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	stderr bytes.Buffer
}

// startServe serves an image of the demo with a model of the stub, from the directory's out.
func startServe(t *testing.T, dir, model string, args ...string) *served {
	t.Helper()
	s := &served{t: t}
	s.cmd = e2e.Batch(t, dir, append([]string{
		"serve", "--image", "batch-demo/demo__slug-1:latest", "-m", "openai/stub-1", "-o", "out", "--listen", "127.0.0.1:0",
	}, args...)...)
	s.cmd.Env = append(s.cmd.Env, "OPENAI_BASE_URL="+model, "OPENAI_API_KEY="+e2e.PlantedKey)
	s.cmd.Stderr = &s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), " at http"); ok {
			s.url = "http" + url
		}
		if strings.HasPrefix(lines.Text(), "contexts ") {
			return s
		}
	}
	_ = s.cmd.Wait()
	t.Fatalf("the server does not serve:\n%s", s.stderr.String())
	return nil
}

// kill ends the process as kill -9 does.
func (s *served) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	_ = s.cmd.Wait()
}

// interrupt ends the process as ctrl-c does.
func (s *served) interrupt() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Error(err)
	}
	if _, exited := errors.AsType[*exec.ExitError](s.cmd.Wait()); exited {
		s.t.Errorf("exit code %d, want %d\n%s", s.cmd.ProcessState.ExitCode(), e2e.ExitOK, s.stderr.String())
	}
}

// client returns the SDK's client. Its requests have a header if name is not empty.
func (s *served) client(name, value string) *a2aclient.Client {
	s.t.Helper()
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		if name != "" {
			r = r.Clone(r.Context())
			r.Header.Set(name, value)
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	c, err := a2aclient.NewFromEndpoints(s.t.Context(), []a2a.AgentInterface{{Transport: a2a.TransportProtocolJSONRPC, URL: s.url}},
		a2aclient.WithJSONRPCTransport(&http.Client{Transport: transport}))
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// words is a message of a context and a task; both may be empty.
func words(text, context string, task a2a.TaskID) *a2a.MessageSendParams {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: text})
	m.ContextID, m.TaskID = context, task
	return &a2a.MessageSendParams{Message: m}
}

// sent sends a message, waits for the end of its turn, and holds it against what is expected.
func sent(t *testing.T, c *a2aclient.Client, p *a2a.MessageSendParams, state a2a.TaskState, says string) *a2a.Task {
	t.Helper()
	res, err := c.SendMessage(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	task := res.(*a2a.Task)
	expectTask(t, task, state, says)
	return task
}

func expectTask(t *testing.T, task *a2a.Task, state a2a.TaskState, says string) {
	t.Helper()
	var said string
	if task.Status.Message != nil {
		said = textOf(task.Status.Message.Parts)
	}
	if task.Status.State != state || !strings.Contains(said, says) {
		t.Errorf("task %s is %s and says %q, want %s and %q", task.ID, task.Status.State, said, state, says)
	}
}

func textOf(parts a2a.ContentParts) (text string) {
	for _, p := range parts {
		if p, ok := p.(a2a.TextPart); ok {
			text += p.Text
		}
	}
	return text
}

// patchOf is a task's patch.
func patchOf(task *a2a.Task) string {
	for _, a := range task.Artifacts {
		if a.Name == "patch" {
			return textOf(a.Parts)
		}
	}
	return ""
}

// toolCalled streams a message until the agent has called a tool, and returns its task.
func toolCalled(t *testing.T, c *a2aclient.Client, p *a2a.MessageSendParams) a2a.TaskInfo {
	t.Helper()
	for e, err := range c.SendStreamingMessage(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprint(e.Meta()["batch/event"]), "tool_call") {
			return e.TaskInfo()
		}
	}
	t.Fatal("the turn has ended without a call of a tool")
	return a2a.TaskInfo{}
}

// seatsOf returns how many containers the contexts have.
func seatsOf(t *testing.T, contexts ...string) (n int) {
	t.Helper()
	owned, err := e2e.Connect(t).Owned(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range owned {
		for _, id := range contexts {
			if c.Instance == id {
				n++
			}
		}
	}
	return n
}

func TestAServedContextSurvivesAKill(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	var mu sync.Mutex
	asked := map[int]int{}
	model := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		n := r.Replies()
		mu.Lock()
		asked[n]++
		mu.Unlock()
		switch n {
		case 0:
			return stub.Bash("echo one >> work.txt; git add -N work.txt; until test -e /tmp/go; do sleep 0.1; done")
		case 1:
			return stub.Text("the first is done")
		case 2:
			return stub.Answer{ToolCalls: []llm.ToolCall{{Name: "ask", Arguments: `{"question":"Which word?"}`}}}
		case 3:
			return stub.Bash("echo two >> work.txt")
		case 4:
			return stub.Text("the second is done")
		case 5:
			return stub.Bash("echo three >> work.txt; sleep 1000")
		default:
			return stub.Text("the third was stopped")
		}
	})
	dir := t.TempDir()
	t.Cleanup(e2e.Keep(filepath.Join(dir, "out")))
	s := startServe(t, dir, model.URL)
	at := toolCalled(t, s.client("", ""), words("write one", "", ""))
	s.kill()

	s = startServe(t, dir, model.URL)
	c := s.client("", "")
	e2e.MakeInContainers(t, at.ContextID, "/tmp/go")
	for _, err := range c.ResubscribeToTask(t.Context(), &a2a.TaskIDParams{ID: at.TaskID}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	first, err := c.GetTask(t.Context(), &a2a.TaskQueryParams{ID: at.TaskID})
	if err != nil {
		t.Fatal(err)
	}
	expectTask(t, first, a2a.TaskStateCompleted, "the first is done")
	if patch := patchOf(first); strings.Count(patch, "+one\n") != 1 {
		t.Errorf("the command did not run exactly once: %q", patch)
	}
	question := sent(t, c, words("write another word", at.ContextID, ""), a2a.TaskStateInputRequired, "Which word?")
	second := sent(t, c, words("two", "", question.ID), a2a.TaskStateCompleted, "the second is done")
	if patch := patchOf(second); second.ID != question.ID || !strings.Contains(patch, "+one\n+two\n") {
		t.Errorf("task %s has the patch %q, want task %s with both words", second.ID, patch, question.ID)
	}
	third := toolCalled(t, c, words("write three", at.ContextID, ""))
	canceled, err := c.CancelTask(t.Context(), &a2a.TaskIDParams{ID: third.TaskID})
	if err != nil {
		t.Fatal(err)
	}
	expectTask(t, canceled, a2a.TaskStateCanceled, "")
	sent(t, c, words("and now?", at.ContextID, ""), a2a.TaskStateCompleted, "the third was stopped")
	s.interrupt()
	mu.Lock()
	defer mu.Unlock()
	for n := range 7 {
		if asked[n] != 1 {
			t.Errorf("call %d was asked for %d times, want once", n, asked[n])
		}
	}
	if n := seatsOf(t, at.ContextID); n != 0 {
		t.Errorf("%d containers are left, want none", n)
	}
}

func TestARefusedCallerDoesNotStopOthers(t *testing.T) {
	tier.Rest(t, "attempt/serve", "attempt/session", "attempt/*.go", "llm/authority")
	e2e.NeedDocker(t)
	t.Parallel()
	var key atomic.Value
	model := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		key.Store(r.Header.Get("Authorization"))
		if bytes.Contains(r.Body, []byte("odd words")) {
			return stub.Refusal(400, "invalid_value", "messages[1].content: no surrogates please")
		}
		return stub.Text("hello")
	})
	dir := t.TempDir()
	s := startServe(t, dir, model.URL, "--model-key-header", "X-Model-Key", "--max-contexts", "3")
	c := s.client("X-Model-Key", "sk-of-the-caller-alone")
	odd := sent(t, c, words("odd words", "", ""), a2a.TaskStateFailed, "no surrogates please")
	if text := textOf(odd.Status.Message.Parts); strings.Contains(text, "all instances") || strings.Contains(text, "model_kwargs") {
		t.Errorf("a refusal of one caller's words is shown as a setting of the server: %s", text)
	}
	task := sent(t, c, words("say hello", "", ""), a2a.TaskStateCompleted, "hello")
	if got := key.Load(); got != "Bearer sk-of-the-caller-alone" {
		t.Errorf("the model was asked with %q, want the caller's key", got)
	}
	sent(t, s.client("", ""), words("say hello", task.ContextID, ""), a2a.TaskStateCompleted, "hello")
	if got := key.Load(); got != "Bearer "+e2e.PlantedKey {
		t.Errorf("a turn without a key was asked with another one than the server's")
	}
	s.interrupt()
	if out, err := exec.Command("grep", "-rlF", "sk-of-the-caller-alone", dir).Output(); err == nil || len(out) > 0 {
		t.Errorf("the caller's key is in %s", out)
	}
	if n := seatsOf(t, odd.ContextID, task.ContextID); n != 0 {
		t.Errorf("%d containers are left, want none", n)
	}
}
