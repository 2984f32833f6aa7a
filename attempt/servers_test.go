package attempt_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/agent/mcp"
	"batch.example/batch/fault"
	"batch.example/batch/internal/sample"
	"batch.example/batch/llm"
	"batch.example/batch/llm/scripted"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// notes is an MCP server that appends a line to the file NOTES with each call.
const notes = `while IFS= read -r line; do
  [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
  say() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
  case $line in
  *'"method":"server/discover"'*) say '"error":{"code":-32601,"message":"no"}';;
  *'"method":"initialize"'*) say '"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}';;
  *'"method":"tools/list"'*) say '"result":{"tools":[{"name":"add","description":"Adds a note.","inputSchema":{"type":"object"}},{"name":"hidden","inputSchema":{"type":"object"}}]}';;
  *'"method":"tools/call"'*) echo called >>"$NOTES"; say '"result":{"content":[{"type":"text","text":"noted"}]}';;
  esac
done`

func notesServer(t *testing.T, inside bool) (server mcp.Server, calls func() int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notes")
	calls = func() int {
		data, _ := os.ReadFile(file)
		_ = os.Remove(file)
		return bytes.Count(data, []byte("called"))
	}
	return mcp.Server{
		Name: "notes", Command: []string{"bash", "-c", notes}, Env: []string{"NOTES=" + file}, Inside: inside, Tools: []string{"add"},
	}, calls
}

// local is a program of a world.
type local struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (l local) Close() error               { return errors.Join(l.WriteCloser.Close(), l.cmd.Wait()) }
func (local) Exit() (code int, ended bool) { return 0, false }

// once closes a program one time only.
type once struct {
	local
	close func() error
}

func (o once) Close() error { return o.close() }

// Stream implements attempt.Sandbox.
func (w *world) Stream(_ context.Context, p sandbox.Program) (sandbox.Stream, error) {
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env = p.Env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l := local{out, in, cmd}
	return once{l, sync.OnceValue(l.Close)}, cmd.Start()
}

func note(id string) scripted.Reply {
	return scripted.Reply{Cost: 0.5, ToolCalls: []llm.ToolCall{{ID: id, Name: "notes__add", Arguments: `{"text":"x"}`}}}
}

var noting = []scripted.Reply{bash("do 1"), note("n1"), bash("do 2"), bash("submit")}

func TestAnAttemptUsesTheToolsOfServers(t *testing.T) {
	for _, inside := range []bool{false, true} {
		p := newPlaying(t, noting)
		server, calls := notesServer(t, inside)
		p.servers = []mcp.Server{server}
		dir := t.TempDir()
		r := p.solve(dir)
		if r.Record.Status != vocab.StatusSubmitted || calls() != 1 {
			t.Errorf("inside %v: %+v", inside, r.Record)
		}
		if said := strings.Join(messages(t, dir), "\n"); !strings.Contains(said, "noted") || !strings.Contains(said, `"tool": "notes__add"`) {
			t.Errorf("the trajectory lacks the call or its result:\n%s", said)
		}
	}
}

func TestAToolThatIsNotAllowedCannotBeCalled(t *testing.T) {
	hidden := note("n1")
	hidden.ToolCalls[0].Name = "notes__hidden"
	p := newPlaying(t, []scripted.Reply{hidden, bash("submit")})
	server, calls := notesServer(t, false)
	p.servers = []mcp.Server{server}
	dir := t.TempDir()
	p.solve(dir)
	if said := strings.Join(messages(t, dir), "\n"); calls() != 0 || !strings.Contains(said, "Unknown tool 'notes__hidden'") {
		t.Errorf("the tool was called, or the model was not informed:\n%s", said)
	}
}

func TestAnAttemptWithoutItsServerIsAFaultBeforeAPaidCall(t *testing.T) {
	p := newPlaying(t, noting)
	p.servers = []mcp.Server{{Name: "notes", Command: []string{"no-such-program-x"}, Tools: []string{"*"}}}
	if _, err := p.try(t.TempDir()); fault.KindOf(err) != fault.Usage || len(p.requests) != 0 {
		t.Errorf("%v after %d requests, want a Usage fault before the first", err, len(p.requests))
	}
}

// Calls with a result in the journal are not made again, so that their effects in a lost
// container stay lost.
func TestAResumeAfterACallToAServer(t *testing.T) {
	for _, inside := range []bool{false, true} {
		p := newPlaying(t, noting)
		server, calls := notesServer(t, inside)
		p.servers = []mcp.Server{server}
		whole := t.TempDir()
		p.solve(whole)
		calls()
		want, lines := messages(t, whole), p.lines(whole)
		done := slices.IndexFunc(lines, func(l []byte) bool {
			return bytes.Contains(l, []byte(`"type":"output"`)) && bytes.Contains(l, []byte(`"step":2`))
		})
		if done < 0 {
			t.Fatalf("the journal has no output of the call:\n%s", bytes.Join(lines, nil))
		}
		chosen := sample.Of(t, 4, len(lines))
		for cut := 2; cut < len(lines); cut++ {
			if around := cut == done || cut == done+1; !around && !slices.Contains(chosen, cut) {
				continue
			}
			for _, lives := range []bool{false, true} {
				dir := p.crashed(lines[:cut], lives)
				r, err := p.try(dir)
				if err != nil {
					t.Fatal(err)
				}
				known := cut > done
				if d := cmp.Diff(want, messages(t, dir)); d != "" {
					t.Errorf("inside %v, after %d records, container lives %v: the conversation changed (-want +got):\n%s", inside, cut, lives, d)
				}
				if n := calls(); n != 1 && !known || n != 0 && known {
					t.Errorf("inside %v, after %d records, container lives %v: %d more calls", inside, cut, lives, n)
				}
				diverged := inside && known && !lives
				if (r.Record.Outcome == vocab.OutcomeDiverged) != diverged || (r.Record.Differences > 0) != diverged {
					t.Errorf("inside %v, after %d records, container lives %v: outcome %v with %d differences", inside, cut, lives, r.Record.Outcome, r.Record.Differences)
				}
			}
		}
	}
}
