package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent"
	"batch.example/batch/agent/mcp"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// patience is how long a test waits for something to happen, on a busy machine too.
const patience = 5 * time.Minute

// connect connects to servers until the end of the test.
func connect(t testing.TB, servers ...mcp.Server) *mcp.Set {
	t.Helper()
	s, err := mcp.Connect(t.Context(), mcp.Config{Servers: servers})
	if err != nil {
		t.Fatalf("%v (%s)", err, fault.HintOf(err))
	}
	t.Cleanup(s.Close)
	return s
}

func names(s *mcp.Set) []string {
	var list []string
	for _, tool := range s.Tools() {
		list = append(list, tool.Name)
	}
	return list
}

// use calls a tool as an agent does.
func use(ctx context.Context, t testing.TB, s *mcp.Set, name string, args map[string]any) (vocab.Output, error) {
	t.Helper()
	i := slices.IndexFunc(s.Tools(), func(tool agent.Tool) bool { return tool.Name == name })
	if i < 0 {
		t.Fatalf("there is no tool %s", name)
	}
	tool := s.Tools()[i]
	call, problems := tool.Decode(args)
	if problems != nil {
		t.Fatalf("%s refuses %v: %q", name, args, problems)
	}
	if call.Command != "" {
		t.Errorf("%s has the command %q, which a resumed run would execute in the container", name, call.Command)
	}
	return tool.Execute(ctx, nil, call)
}

func mustUse(t testing.TB, s *mcp.Set, name, text string) vocab.Output {
	t.Helper()
	out, err := use(t.Context(), t, s, name, map[string]any{"text": text})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func TestToolsOfAProgram(t *testing.T) {
	t.Parallel()
	server := program(t, "sdk", "SECRET=from the configuration")
	server.Tools = []string{"echo", "environ", "fail", "media", "struct*"}
	s := connect(t, server)
	if d := cmp.Diff([]string{"test__echo", "test__environ", "test__fail", "test__media", "test__structured"}, names(s)); d != "" {
		t.Fatalf("tools (-want +got):\n%s", d)
	}
	echo := s.Tools()[0]
	var schema map[string]any
	if err := json.Unmarshal(echo.Parameters, &schema); err != nil || schema["type"] != "object" || !strings.Contains(string(echo.Parameters), `"text"`) || echo.Description != "The tool echo." {
		t.Errorf("it is described as %q, %s", echo.Description, echo.Parameters)
	}
	if fail := s.Tools()[2]; !echo.ReadOnly(agent.Call{}) || fail.ReadOnly(agent.Call{}) {
		t.Error("only the tool that declares it is read-only")
	}
	if echo.Submits {
		t.Error("a tool of a server could submit")
	}
	if _, problems := echo.Decode(nil); len(problems) != 1 {
		t.Errorf("arguments that are not an object: problems %q", problems)
	}
	out := mustUse(t, s, "test__echo", "hello")
	if got := string(out.Bytes); got != "you said\nhello" || out.ExitCode != 0 || out.Total != int64(len(got)) {
		t.Errorf("echo: %q, %+v", got, out)
	}
	if out := mustUse(t, s, "test__fail", "x"); string(out.Bytes) != "it is broken" || out.ExitCode != 1 {
		t.Errorf("fail: %q, exit code %d", out.Bytes, out.ExitCode)
	}
	if out := mustUse(t, s, "test__structured", "x"); string(out.Bytes) != `{"answer":42}` {
		t.Errorf("structured: %q", out.Bytes)
	}
	want := `look
[image, "image/png", 5 bytes: not shown]
[audio, "audio/wav", 1 bytes: not shown]
[resource "file:///x", "x", "": not shown]
the text of y
[resource "file:///z", "", 3 bytes: not shown]`
	if d := cmp.Diff(want, string(mustUse(t, s, "test__media", "x").Bytes)); d != "" {
		t.Errorf("media (-want +got):\n%s", d)
	}
	if got := string(mustUse(t, s, "test__environ", "x").Bytes); got != "SECRET=from the configuration\n"+serveAs+"=sdk" {
		t.Errorf("the program's environment is %q", got)
	}
}

func TestAnArgumentThatTheServerRefusesIsShownToTheModel(t *testing.T) {
	t.Parallel()
	s := connect(t, program(t, "sdk"))
	out, err := use(t.Context(), t, s, "test__echo", map[string]any{"text": 7})
	if err != nil || out.ExitCode != 1 || !strings.Contains(string(out.Bytes), "text") {
		t.Errorf("%q, %+v, %v; want exit code 1 and the server's words", out.Bytes, out, err)
	}
}

// A model's call reaches the server through an agent as it was written.
func TestArgumentsArriveAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	s := connect(t, program(t, "sdk"))
	const args = `{"a":12345678901234567890,"b":1.10,"c":[{"d":null},"<é>"],"e":{}}`
	loop, err := agent.NewLoop(agent.Config{SystemTemplate: "s", InstanceTemplate: "i", Limits: vocab.Limits{Steps: 1}})
	if err != nil {
		t.Fatal(err)
	}
	end, err := loop.Run(t.Context(), agent.Turn{Tools: s.Tools(), Model: once{llm.ToolCall{ID: "1", Name: "test__raw", Arguments: args}}})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, m := range end.Messages {
		if m.Role == llm.RoleTool {
			said = m.Text()
		}
	}
	if !strings.Contains(said, args) {
		t.Errorf("the server got %s, want %s", said, args)
	}
}

// once is a model that calls a tool.
type once struct{ llm.ToolCall }

func (o once) Generate(context.Context, *llm.Request) (*llm.Response, error) {
	return &llm.Response{Message: llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{o.ToolCall}}}, nil
}

func TestTheToolsStayThoseOfTheBeginning(t *testing.T) {
	t.Parallel()
	s := connect(t, program(t, "sdk"))
	before := names(s)
	mustUse(t, s, "test__change", "x")
	if d := cmp.Diff(before, names(s)); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if out := mustUse(t, s, "test__fail", "x"); out.ExitCode != 1 {
		t.Errorf("a tool that the server has removed: %q, exit code %d", out.Bytes, out.ExitCode)
	}
}

func TestConnectingFailsWithBlame(t *testing.T) {
	t.Parallel()
	with := func(s mcp.Server, change func(*mcp.Server)) mcp.Server { change(&s); return s }
	short := func(s *mcp.Server) { s.Timeout = 300 * time.Millisecond }
	for name, c := range map[string]struct {
		server mcp.Server
		kind   fault.Kind
		says   string
	}{
		"no such program":     {with(program(t, "sdk"), func(s *mcp.Server) { s.Command = []string{"no-such-program-x"} }), fault.Usage, "no-such-program-x"},
		"not executable":      {with(program(t, "sdk"), func(s *mcp.Server) { s.Command = []string{"/etc/passwd"} }), fault.Usage, "permission denied"},
		"it ends at once":     {program(t, "ends"), fault.Usage, "exit code 4"},
		"it is not a server":  {with(program(t, "garbage"), func(s *mcp.Server) { s.Timeout = time.Second }), fault.Transient, "did not answer in time"},
		"it never answers":    {with(program(t, "mute"), short), fault.Transient, "did not answer in time"},
		"10,000 tools":        {program(t, "ten thousand"), fault.Usage, "more than 5000"},
		"too many are usable": {program(t, "two hundred"), fault.Usage, "200 tools"},
		"an endless list":     {program(t, "endless"), fault.Usage, "more than 5000"},
		"no tools":            {program(t, "no tools"), fault.Usage, "no such tool"},
		"a tool is missing":   {with(program(t, "sdk"), func(s *mcp.Server) { s.Tools = []string{"echo", "sing"} }), fault.Usage, `"sing"`},
		"nothing listens":     {mcp.Server{Name: "test", URL: "http://127.0.0.1:1/mcp", Tools: []string{"*"}}, fault.Transient, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			_, err := mcp.Connect(t.Context(), mcp.Config{
				Servers: []mcp.Server{c.server}, Log: slog.New(slog.NewTextHandler(&log, nil)),
				Mask: mask.New(mask.Secret{Name: "KEY", Value: "hunter2-hunter2"}),
			})
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error()+fault.HintOf(err), c.says) || !strings.Contains(err.Error()+fault.HintOf(err), "test") && c.kind == fault.Usage && name != "too many are usable" {
				t.Errorf("%v: %v (%s); want a %v fault that says %q", fault.KindOf(err), err, fault.HintOf(err), c.kind, c.says)
			}
			if said := fmt.Sprint(err, log.String()); strings.Contains(said, "hunter2") {
				t.Errorf("a secret was not hidden: %s", said)
			}
			if name == "it ends at once" && (!strings.Contains(log.String(), "cannot read my settings") || !strings.Contains(err.Error(), "cannot read my settings")) {
				t.Errorf("what the program wrote is missing in the log:\n%s\nor in the error: %v", log.String(), err)
			}
		})
	}
}

func TestLinesThatAreNoMessagesAreLoggedAndPassedOver(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, err := mcp.Connect(t.Context(), mcp.Config{
		Servers: []mcp.Server{program(t, "banner")}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Mask: mask.New(mask.Secret{Name: "KEY", Value: "hunter2-hunter2"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(s); !slices.Equal(got, []string{"test__t"}) {
		t.Errorf("tools %q", got)
	}
	s.Close()
	for _, line := range []string{"Welcome to my server!", "the key is ********", `line="{\"level\":\"info\"}`} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log lacks %q:\n%s", line, log.String())
		}
	}
}

var accepted = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func TestOddToolsGetNamesAndSchemasThatProvidersAccept(t *testing.T) {
	t.Parallel()
	s := connect(t, program(t, "odd"))
	got := names(s)
	for i, name := range got {
		if !accepted.MatchString(name) || slices.Contains(got[:i], name) || !strings.HasPrefix(name, "test__") {
			t.Errorf("name %q", name)
		}
		tool := s.Tools()[i]
		var schema struct{ Type string }
		if err := json.Unmarshal(tool.Parameters, &schema); err != nil || schema.Type != "object" || len(tool.Parameters) > 70_000 {
			t.Errorf("%s: schema of %d bytes, type %q, %v", name, len(tool.Parameters), schema.Type, err)
		}
		if len(tool.Description) > 5000 {
			t.Errorf("%s: description of %d bytes", name, len(tool.Description))
		}
		if out, err := use(t.Context(), t, s, name, map[string]any{}); err != nil || string(out.Bytes) != "okay" {
			t.Errorf("%s: %q, %v", name, out.Bytes, err)
		}
	}
	if len(got) != 12 { // 14 without the second a.b and null
		t.Errorf("%d tools: %q", len(got), got)
	}
	if d := cmp.Diff(got, names(connect(t, program(t, "odd")))); d != "" {
		t.Errorf("names differ in the next attempt:\n%s", d)
	}
}

func TestHostileResults(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"bad result":   "Whether the call had effects is not known",
		"asks":         "input",
		"malformed":    "Whether the call had effects is not known",
		"null content": "Whether the call had effects is not known",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := connect(t, program(t, kind))
			for range 2 { // it can be called again
				out, err := use(t.Context(), t, s, "test__t", map[string]any{})
				if said := string(out.Bytes) + out.Note; err != nil || out.ExitCode != 1 || !strings.Contains(said, want) {
					t.Errorf("%q, exit code %d, %v; want exit code 1 and %q", said, out.ExitCode, err, want)
				}
			}
		})
	}
}

func TestNotificationsDoNotDisturbACall(t *testing.T) {
	t.Parallel()
	if out := mustUse(t, connect(t, program(t, "floods")), "test__t", "x"); string(out.Bytes) != "okay" || out.ExitCode != 0 {
		t.Errorf("%q, %+v", out.Bytes, out)
	}
}

func TestAResultThatIsLongIsCut(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	s := connect(t, program(t, "sdk"), overHTTP(t, nil))
	for _, tool := range []string{"test__large", "web__large"} {
		out := mustUse(t, s, tool, "x")
		begin, end := bytes.HasPrefix(out.Bytes, []byte("first x")), bytes.HasSuffix(out.Bytes, []byte("x last"))
		if out.ExitCode != 0 || out.Total != 3<<20+11 || len(out.Bytes) > 1<<20 || !begin || !end {
			t.Errorf("%s: %d of %d bytes, exit code %d, %q; want the beginning and the end", tool, len(out.Bytes), out.Total, out.ExitCode, out.Note)
		}
	}
}

func TestAResultThatIsTooLongBreaksOnlyTheCall(t *testing.T) {
	t.Parallel()
	s := connect(t, program(t, "sdk"))
	if out := mustUse(t, s, "test__huge", "x"); out.ExitCode != 1 || !strings.Contains(out.Note, "more than 32 MB") {
		t.Errorf("%d bytes, %+v", len(out.Bytes), out.Note)
	}
	if out := mustUse(t, s, "test__echo", "x"); out.ExitCode != 0 {
		t.Errorf("the next call: %q", out.Bytes)
	}
}

func TestAServerThatDies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, shows, note string }{
		{"test__die", "", "Whether the call had effects is not known"},
		{"test__die_readonly", "alive again", ""},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			s := connect(t, program(t, "sdk"))
			out := mustUse(t, s, c.tool, filepath.Join(t.TempDir(), "died"))
			if string(out.Bytes) != c.shows || !strings.Contains(out.Note, c.note) {
				t.Errorf("%q, %q", out.Bytes, out.Note)
			}
			if out := mustUse(t, s, "test__echo", "x"); out.ExitCode != 0 {
				t.Errorf("the next call: %q, %q", out.Bytes, out.Note)
			}
		})
	}
	t.Run("between two calls", func(t *testing.T) {
		t.Parallel()
		s := connect(t, program(t, "sdk"))
		before := mustUse(t, s, "test__pid", "x")
		mustUse(t, s, "test__die_later", "x")
		waitUntilGone(t, string(before.Bytes))
		// The client may notice the end only during a call.
		for range 2 {
			if out := mustUse(t, s, "test__pid", "x"); out.ExitCode == 0 && bytes.Equal(out.Bytes, before.Bytes) {
				t.Error("the program is the same")
			} else if out.ExitCode == 0 {
				return
			}
		}
		t.Error("the server was not started again")
	})
	t.Run("and cannot be started again", func(t *testing.T) {
		t.Parallel()
		server := program(t, "sdk")
		gone := filepath.Join(t.TempDir(), "server")
		if err := os.Link(server.Command[0], gone); err != nil {
			data, _ := os.ReadFile(server.Command[0])
			if err := os.WriteFile(gone, data, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		server.Command[0] = gone
		s := connect(t, server)
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
		_, err := use(t.Context(), t, s, "test__die", map[string]any{"text": filepath.Join(t.TempDir(), "died")})
		if fault.KindOf(err) != fault.Transient {
			t.Errorf("%v: %v; want a Transient fault", fault.KindOf(err), err)
		}
	})
}

func waitUntilGone(t testing.TB, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); syscall.Kill(n, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %s still runs", pid)
		}
	}
}

func TestATimeLimitEndsTheCall(t *testing.T) {
	t.Parallel()
	for kind, tool := range map[string]string{"sdk": "test__wait", "deaf": "test__t"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := program(t, kind)
			server.Timeout = 2 * time.Second
			s, err := mcp.Connect(t.Context(), mcp.Config{Servers: []mcp.Server{server}})
			for err != nil && server.Timeout < patience { // to connect takes longer on a busy machine, and has the same limit
				server.Timeout *= 2
				s, err = mcp.Connect(t.Context(), mcp.Config{Servers: []mcp.Server{server}})
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			want := fmt.Sprintf("did not answer within %g seconds", server.Timeout.Seconds())
			out, err := use(t.Context(), t, s, tool, map[string]any{"text": ""})
			if err != nil || out.ExitCode != 1 || !strings.Contains(out.Note, want) || out.TimedOut {
				t.Errorf("%+v, %v", out, err)
			}
			if kind == "deaf" { // so much that the pipe is full
				out, err = use(t.Context(), t, s, tool, map[string]any{"text": strings.Repeat("x", 1<<20)})
				if err != nil || out.ExitCode != 1 {
					t.Errorf("%+v, %v", out, err)
				}
			}
		})
	}
}

func TestCancellationEndsTheCall(t *testing.T) {
	t.Parallel()
	s := connect(t, program(t, "sdk"))
	why := errors.New("the run was stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	file := filepath.Join(t.TempDir(), "canceled")
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	if _, err := use(ctx, t, s, "test__wait", map[string]any{"text": file}); !errors.Is(err, why) {
		t.Errorf("%v, want the cause of the cancellation", err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the server was not informed")
		}
	}
	if out := mustUse(t, s, "test__echo", "x"); out.ExitCode != 0 {
		t.Errorf("the next call: %q", out.Bytes)
	}
}

func TestCloseEndsTheProgramAndItsChildren(t *testing.T) {
	t.Parallel()
	s := connect(t, program(t, "sdk", "PATH="+os.Getenv("PATH")))
	pid := string(mustUse(t, s, "test__pid", "x").Bytes)
	child := string(mustUse(t, s, "test__child", filepath.Join(t.TempDir(), "pid")).Bytes)
	s.Close()
	waitUntilGone(t, pid)
	waitUntilGone(t, child)
	s.Close()
	if _, err := use(t.Context(), t, s, "test__echo", map[string]any{}); err == nil {
		t.Error("a tool can be called after Close")
	}
}

func TestToolsAreCalledAtOnce(t *testing.T) {
	t.Parallel()
	a, b := program(t, "sdk"), program(t, "sdk")
	a.Name, b.Name = "a", "b"
	s := connect(t, b, a)
	if got := names(s); !slices.IsSorted(got) {
		t.Errorf("the tools are not sorted by server and name: %q", got)
	}
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			text := strings.Repeat(fmt.Sprint(i), 1000)
			name := []string{"a__echo", "b__echo"}[i%2]
			out, err := use(t.Context(), t, s, name, map[string]any{"text": text})
			if err != nil || string(out.Bytes) != "you said\n"+text {
				t.Errorf("%d: %.40q, %v", i, out.Bytes, err)
			}
		})
	}
	wait.Wait()
}

func TestServerOfATool(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{"bash": "", "my-docs__a__b": "my-docs", "a_b__c": "a_b"} {
		if got, ok := mcp.ServerOf(tool); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %v", tool, got, ok)
		}
	}
}

func TestCloseLeavesNoGoroutines(t *testing.T) { // not parallel: it counts
	before := runtime.NumGoroutine()
	web := overHTTP(t, nil)
	here := program(t, "sdk")
	s, err := mcp.Connect(t.Context(), mcp.Config{Servers: []mcp.Server{here, web}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, _ = use(ctx, t, s, "test__wait", map[string]any{"text": ""}) // canceled
	mustUse(t, s, "web__echo", "x")
	s.Close()
	const ofTheTest = 2 // the HTTP server and its connection
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before+ofTheTest; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
