package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"

	"batch.example/batch/agent"
	"batch.example/batch/attempt"
	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/boxgit"
	"batch.example/batch/llm"
	"batch.example/batch/llm/authority"
	"batch.example/batch/results"
	"batch.example/batch/results/manifest"
	"batch.example/batch/runner"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// world is a server with a run. Its containers are folders, and its model does what the last
// message says.
type world struct {
	t      testing.TB
	server *Server
	http   *httptest.Server
	model  *parrot
	boxes  *boxes
	log    *syncBuffer

	drain    chan struct{}
	cancel   context.CancelFunc
	ended    chan struct{}
	sum      runner.Summary
	err      error
	stopOnce sync.Once
}

// settings are the parts that a test can change.
type settings struct {
	config  func(*Config)
	dir     string // of the run; empty: a new one
	work    string // of the containers
	model   *parrot
	retries runner.Retries
	budget  float64
	plain   bool // containers without a repository that do nothing
	steps   int
	before  func(*attempt.Conversation) // called before each conversation
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newWorld(t testing.TB, s settings) *world {
	t.Helper()
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	if s.work == "" {
		s.work = t.TempDir()
	}
	if s.model == nil {
		s.model = &parrot{}
	}
	if s.retries == nil {
		s.retries = runner.Retries{}
	}
	if s.steps == 0 {
		s.steps = 10
	}
	w := &world{
		t: t, model: s.model, boxes: &boxes{dir: s.work, plain: s.plain, open: map[string]*box{}}, log: &syncBuffer{},
		drain: make(chan struct{}), ended: make(chan struct{}),
	}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	c := Config{
		Dir: s.dir, Width: 8, Log: log,
		Instance: func(id, row string) (dataset.Instance, error) {
			if row != "" && row != "row-1" {
				return dataset.Instance{}, fault.Newf(fault.Usage, "there is no row %s", row)
			}
			return dataset.Instance{ID: id, Image: "image" + row, Fields: map[string]any{"instance_id": id}}, nil
		},
		Card: Card{Name: "test", URL: "http://test.invalid/", Version: "1"},
	}
	if s.config != nil {
		s.config(&c)
	}
	loop, err := agent.NewLoop(agent.Config{
		SystemTemplate: "You are a shell.", InstanceTemplate: "{{task}}", ObservationTemplate: "{{output.returncode}} {{output.output}}",
		Limits: vocab.Limits{Steps: s.steps}, FinishWithoutCalls: true, Actions: agent.ActionForm{Ask: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := results.Open(s.dir, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.before == nil {
		s.before = func(*attempt.Conversation) {}
	}
	w.server = New(c)
	jobs := runner.NewRoster[dataset.Instance](nil)
	jobs.Hold()
	if err := w.server.Load(jobs); err != nil {
		t.Fatal(err)
	}
	worker := attempt.New(attempt.Config{
		Loop: loop, Models: func(dataset.Instance, int) (llm.Model, error) { return s.model, nil }, ModelName: "parrot",
		Sandboxes: w.boxes, Store: store,
		Talk: func(ctx context.Context, conv *attempt.Conversation) error {
			s.before(conv)
			return w.server.Talk(ctx, conv)
		},
		Settings: func(in dataset.Instance) manifest.Settings {
			return manifest.Settings{Version: "test", Row: in.Digest()}
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	go func() {
		defer close(w.ended)
		w.sum, w.err = runner.Run(ctx, runner.Config{
			Width: runner.NewWidth(c.Width), Retries: s.retries, Backoff: time.Millisecond, Drain: w.drain, OnEvent: w.server.Event,
			Budget: runner.NewBudget(s.budget, 0, 0), Log: log,
		}, jobs, worker)
		w.err = errors.Join(w.err, store.Close())
	}()
	w.http = httptest.NewServer(w.server.Handler())
	t.Cleanup(w.stop)
	return w
}

// stop stops the server as a second interrupt does: running turns are left as they are.
func (w *world) stop() {
	w.stopOnce.Do(func() {
		w.cancel()
		<-w.ended
		w.server.Close()
		w.http.CloseClientConnections()
		w.http.Close()
		if n := w.boxes.count(); n != 0 {
			w.t.Errorf("%d containers are left, want none", n)
		}
	})
}

// client returns an SDK client with a bearer token, unless token is empty.
func (w *world) client(token string) *a2aclient.Client {
	w.t.Helper()
	return w.clientOver(&http.Client{Transport: bearer(token)})
}

func (w *world) clientOver(hc *http.Client) *a2aclient.Client {
	w.t.Helper()
	c, err := a2aclient.NewFromEndpoints(w.t.Context(), []a2a.AgentInterface{{Transport: a2a.TransportProtocolJSONRPC, URL: w.http.URL}},
		a2aclient.WithJSONRPCTransport(hc))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

type header struct {
	name, value string
	http.RoundTripper
}

func (h header) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(h.name, h.value)
	return h.RoundTripper.RoundTrip(r)
}

func bearer(token string) http.RoundTripper {
	if token == "" {
		return http.DefaultTransport
	}
	return header{"Authorization", "Bearer " + token, http.DefaultTransport}
}

// say returns a message.
func say(words string) *a2a.MessageSendParams {
	return &a2a.MessageSendParams{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.TextPart{Text: words})}
}

func in(p *a2a.MessageSendParams, context string) *a2a.MessageSendParams {
	p.Message.ContextID = context
	return p
}

func to(p *a2a.MessageSendParams, id a2a.TaskID) *a2a.MessageSendParams {
	p.Message.TaskID = id
	return p
}

func atOnce(p *a2a.MessageSendParams) *a2a.MessageSendParams {
	p.Config = &a2a.MessageSendConfig{Blocking: new(false)}
	return p
}

// send sends a message and returns its task.
func send(t testing.TB, c *a2aclient.Client, p *a2a.MessageSendParams) *a2a.Task {
	t.Helper()
	res, err := c.SendMessage(t.Context(), p)
	if err != nil {
		t.Fatalf("sending %q: %v", wordsIn(p.Message), err)
	}
	return res.(*a2a.Task)
}

func get(t testing.TB, c *a2aclient.Client, id a2a.TaskID) *a2a.Task {
	t.Helper()
	task, err := c.GetTask(t.Context(), &a2a.TaskQueryParams{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// until follows a task until it ends or waits, and returns it.
func until(t testing.TB, c *a2aclient.Client, id a2a.TaskID) *a2a.Task {
	t.Helper()
	for _, err := range c.ResubscribeToTask(t.Context(), &a2a.TaskIDParams{ID: id}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return get(t, c, id)
}

func wordsIn(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	words, _ := wordsOf(m)
	return words
}

func expect(t testing.TB, task *a2a.Task, state a2a.TaskState, words string) {
	t.Helper()
	if got := wordsIn(task.Status.Message); task.Status.State != state || !strings.Contains(got, words) {
		t.Errorf("task %s is %s and says %q, want %s and %q", task.ID, task.Status.State, got, state, words)
	}
}

// parrot is a model that obeys the last message: `say TEXT` answers, `run COMMAND` runs it and
// answers with its output, `ask TEXT` asks, `hang` waits for the end of the call, `fail` fails,
// `hold` waits for release. The part before a | is done first.
type parrot struct {
	mu      sync.Mutex
	calls   int
	price   float64 // of a call
	release chan struct{}
	held    chan struct{} // gets a token with each held call
	seen    []*authority.Authority
}

func (p *parrot) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	p.mu.Lock()
	p.calls++
	n := p.calls
	p.seen = append(p.seen, authority.From(ctx))
	p.mu.Unlock()
	last := len(req.Messages) - 1
	asked := last
	for asked > 0 && req.Messages[asked].Role != llm.RoleUser && !strings.Contains(req.Messages[asked].Text(), llm.Between) {
		asked--
	}
	done := 0
	for _, m := range req.Messages[asked:] {
		if m.Role == llm.RoleAssistant {
			done++
		}
	}
	texts := strings.Split(req.Messages[asked].Text(), llm.Between)
	verbs := strings.Split(texts[len(texts)-1], " | ")
	resp := &llm.Response{Priced: true, Cost: p.price, Model: "parrot", FinishReason: "stop", Usage: vocab.Usage{Input: 1, Output: 1}}
	resp.Message.Role = llm.RoleAssistant
	answer := func(text string) (*llm.Response, error) {
		resp.Message.Parts = llm.Say(text)
		return resp, nil
	}
	call := func(name, member, value string) (*llm.Response, error) {
		arguments, _ := json.Marshal(map[string]string{member: value})
		resp.FinishReason = "tool_calls"
		resp.Message.Parts = append(llm.Say("I call "+name), llm.ToolCall{ID: fmt.Sprint("c", n), Name: name, Arguments: string(arguments)})
		return resp, nil
	}
	if done >= len(verbs) {
		return answer("done: " + req.Messages[last].Text())
	}
	verb, rest, _ := strings.Cut(verbs[done], " ")
	switch verb {
	case "say":
		return answer(rest)
	case "run":
		return call("bash", "command", rest)
	case "ask":
		return call("ask", "question", rest)
	case "hang":
		p.hold()
		<-ctx.Done()
		return nil, ctx.Err()
	case "hold":
		p.hold()
		select {
		case <-p.release:
			return answer("released")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case "fail":
		return nil, fault.Newf(fault.Transient, "the provider is away")
	default:
		return answer("I heard " + req.Messages[asked].Text())
	}
}

func (p *parrot) hold() {
	if p.held != nil {
		p.held <- struct{}{}
	}
}

// wait waits for a held call.
func (p *parrot) wait(t *testing.T) {
	t.Helper()
	select {
	case <-p.held:
	case <-time.After(5 * time.Minute):
		t.Fatal("the model was not called")
	}
}

func (p *parrot) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

func holding() *parrot { return &parrot{release: make(chan struct{}), held: make(chan struct{}, 100)} }

// boxes are folders with one repository per instance. Each opening creates a new one.
type boxes struct {
	dir    string
	plain  bool
	mu     sync.Mutex
	opened int
	open   map[string]*box
	fail   error // of the next openings
}

func (b *boxes) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open)
}

func (b *boxes) openings() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opened
}

func (b *boxes) Open(ctx context.Context, o sandbox.Opening) (attempt.Sandbox, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return nil, b.fail
	}
	b.opened++
	id := fmt.Sprint("box-", b.opened)
	x := &box{boxes: b, id: id, dir: filepath.Join(b.dir, o.Instance.ID+"-"+id), image: o.Instance.Image}
	b.open[id] = x
	if b.plain {
		return x, nil
	}
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		return nil, err
	}
	out, err := x.Execute(ctx, "", "git init -q && echo a > f.txt && git add -A && git -c user.name=t -c user.email=t@localhost commit -qm base")
	if err != nil || out.ExitCode != 0 {
		return nil, fmt.Errorf("%w %s", err, out.Bytes)
	}
	return x, nil
}

// bare is the part of a sandbox that most tests do not need: it knows nothing of its history and
// its shell, and starts no program.
type bare struct{}

func (bare) CheckShell(context.Context) ([]byte, error) { return nil, nil }
func (bare) ShareScrub(context.Context) bool            { return false }
func (bare) Launch(context.Context, string, sandbox.Launch) (vocab.Output, error) {
	panic("no program is launched here")
}
func (bare) Listen(context.Context) (net.Listener, error) { panic("nothing listens here") }
func (bare) Clear(context.Context) error                  { return nil }
func (bare) Scrubbed(boxgit.Report, time.Duration)        {}
func (bare) Stream(context.Context, sandbox.Program) (sandbox.Stream, error) {
	return nil, errors.ErrUnsupported
}

func (bare) Checked(_ context.Context, ask func() (vocab.Output, error)) (vocab.Output, error) {
	return ask()
}

type box struct {
	bare
	boxes *boxes
	id    string
	dir   string
	image string

	mu     sync.Mutex
	broken error
}

func (b *box) Execute(ctx context.Context, _, command string) (vocab.Output, error) {
	b.mu.Lock()
	broken := b.broken
	b.mu.Unlock()
	if broken != nil {
		return vocab.Output{}, broken
	}
	if b.boxes.plain {
		return vocab.Output{Bytes: []byte("plain"), Total: 5}, nil
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return vocab.Output{}, ctx.Err()
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return vocab.Output{}, err
	}
	return vocab.Output{Bytes: out, Total: int64(len(out)), ExitCode: cmd.ProcessState.ExitCode()}, nil
}

func (b *box) Vars() map[string]any { return map[string]any{"cwd": b.dir} }

func (b *box) Script(ctx context.Context, script string) (vocab.Output, error) {
	if b.boxes.plain {
		return vocab.Output{ExitCode: 1}, nil
	}
	return b.Execute(ctx, "", script)
}

func (b *box) Alive(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.broken
}

func (b *box) Facts() sandbox.Facts {
	return sandbox.Facts{Container: b.id, Image: vocab.Image{Ref: b.image, ID: "sha256:0"}}
}

func (b *box) Close() error {
	b.boxes.mu.Lock()
	defer b.boxes.mu.Unlock()
	delete(b.boxes.open, b.id)
	return nil
}
