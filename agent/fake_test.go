package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"batch.example/batch/llm"
	"batch.example/batch/vocab"
)

// script answers with its replies in order.
type script struct {
	mu      sync.Mutex
	replies []*llm.Response
	asked   [][]llm.Message
	err     error // when the replies are used up
}

var errScriptEnd = errors.New("the script has no more replies")

func (s *script) Generate(ctx context.Context, req *llm.Request) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, append([]llm.Message{}, req.Messages...))
	if len(s.replies) == 0 {
		if s.err != nil {
			return nil, s.err
		}
		return nil, errScriptEnd
	}
	r := s.replies[0]
	s.replies = s.replies[1:]
	return r, nil
}

func say(text string, calls ...llm.ToolCall) *llm.Response {
	return &llm.Response{
		Message: llm.Message{Role: llm.RoleAssistant, Parts: llm.Say(text, calls...)},
		Cost:    1, Priced: true, Model: "scripted-1", Usage: vocab.Usage{Input: 10, Output: 2},
	}
}

func call(id, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: id, Name: "bash", Arguments: arguments}
}

func ask(id, command string) *llm.Response {
	return say("", call(id, `{"command":"`+command+`"}`))
}

func fence(command string) *llm.Response {
	return say("THOUGHT: so\n\n```mswea_bash_command\n" + command + "\n```")
}

// env answers commands from a table; for other commands it prints nothing.
type env struct {
	outputs map[string]vocab.Output
	err     map[string]error
	ran     []string
}

func (e *env) Execute(ctx context.Context, command string) (vocab.Output, error) {
	if err := ctx.Err(); err != nil {
		return vocab.Output{}, err
	}
	e.ran = append(e.ran, command)
	if err := e.err[command]; err != nil {
		return vocab.Output{}, err
	}
	out := e.outputs[command]
	if out.Total == 0 {
		out.Total = int64(len(out.Bytes))
	}
	return out, nil
}

func (e *env) Vars() map[string]any { return map[string]any{"cwd": "/testbed"} }

func printed(s string) vocab.Output { return vocab.Output{Bytes: []byte(s)} }

// host runs commands with the bash of this machine. What the editor keeps in a container's
// /tmp is in a folder beside dir.
type host struct{ dir string }

func (h host) Execute(ctx context.Context, command string) (vocab.Output, error) {
	start := time.Now()
	tmp := filepath.Join(filepath.Dir(h.dir), "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return vocab.Output{}, err
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(command, "/tmp/.batch-", tmp+"/.batch-"))
	cmd.Dir = h.dir
	data, err := cmd.CombinedOutput()
	out := vocab.Output{Bytes: data, Total: int64(len(data)), Duration: time.Since(start)}
	if exited, ok := errors.AsType[*exec.ExitError](err); ok {
		out.ExitCode = exited.ExitCode()
		err = nil
	}
	return out, err
}

func (h host) Vars() map[string]any { return nil }

// journal keeps events and may fail at a chosen one.
type journal struct {
	events []Event
	failAt EventType
	err    error
}

func (j *journal) Record(_ context.Context, e Event) error {
	if j.err != nil && e.Type == j.failAt {
		return j.err
	}
	j.events = append(j.events, e)
	return nil
}

func (j *journal) types() (types []string) {
	for _, e := range j.events {
		types = append(types, string(e.Type))
	}
	return types
}

// Templates with the structure of mini-swe-agent's benchmark configuration.
var (
	longObservation = mustRead("template/testdata/observation.jinja")
	formatTemplate  = mustRead("template/testdata/format_error.jinja")
)

func mustRead(name string) string {
	text, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
