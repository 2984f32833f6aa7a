package talk

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
	"batch.example/batch/llm/stub"
)

// A conversation that is killed at a record of its journal, and continued by the same
// command, is the one that an undisturbed person would have had.
func TestAKilledChatContinues(t *testing.T) {
	tier.Rest(t, "attempt/chat", "attempt/session", "attempt/*.go", "agent/*.go", "journal", "cmd/batch/chat*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	want := killedChat(t, 0)
	points := 0
	for point := 2; ; point += 2 {
		got := killedChat(t, point)
		if !slices.Equal(got.messages, want.messages) || got.patch != want.patch {
			t.Errorf("killed at record %d: %q, patch %q; want %q, patch %q", point, got.messages, got.patch, want.messages, want.patch)
		}
		if got.asked > want.asked+1 { // one call may have been under way
			t.Errorf("killed at record %d: %d calls, want at most %d", point, got.asked, want.asked+1)
		}
		if !got.killed {
			break
		}
		points++
	}
	if points < 5 {
		t.Errorf("killed at %d records, want 5 at least", points)
	}
}

type chatted struct {
	messages []string
	patch    string
	asked    int
	killed   bool
}

// killedChat has a conversation that is killed at a record and continued; 0: it is not.
func killedChat(t *testing.T, point int) (got chatted) {
	t.Helper()
	var mu sync.Mutex
	server := stub.NewServerFunc(t, func(_ int, r *stub.Request) stub.Answer {
		mu.Lock()
		defer mu.Unlock()
		got.asked++
		switch r.Replies() {
		case 0:
			return stub.Bash("echo one > one.txt")
		case 1:
			return stub.Bash("echo two >> one.txt")
		default:
			return stub.Answer{Content: "Done."}
		}
	})
	dir := t.TempDir()
	inject := ""
	if point > 0 {
		inject = fmt.Sprintf("journal.append:%d=kill", point)
	}
	code := converse(t, dir, server.URL, inject)
	if got.killed = code < 0; got.killed {
		code = converse(t, dir, server.URL, "")
	}
	if code != e2e.ExitOK {
		t.Fatalf("killed at record %d: exit code %d at the end, want %d", point, code, e2e.ExitOK)
	}
	out := filepath.Join(dir, "talk")
	var preds map[string]struct {
		Patch string `json:"model_patch"`
	}
	var trajectory struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	for path, v := range map[string]any{"preds.json": &preds, "demo__slug-1/demo__slug-1.traj.json": &trajectory} {
		text, err := os.ReadFile(filepath.Join(out, path))
		if err == nil {
			err = json.Unmarshal(text, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range trajectory.Messages {
		got.messages = append(got.messages, fmt.Sprint(m.Role, ": ", m.Content))
	}
	got.patch = preds["demo__slug-1"].Patch
	return got
}

// converse lets the agent do its task, or what is left of it, saves the diff and ends the
// conversation. It returns the exit code; -1 if the program was killed.
func converse(t *testing.T, dir, url, inject string) int {
	t.Helper()
	args := []string{"chat", "--image", "batch-demo/demo__slug-1", "-m", "openai/stub-1", "-o", "talk", "--no-tty", "--mode", "yolo", "write one"}
	if inject != "" {
		args = append(args, "--inject", inject)
	}
	cmd := e2e.Batch(t, dir, args...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+url, "OPENAI_API_KEY="+e2e.PlantedKey)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var opened struct {
			Event string
			Retry bool
		}
		if err := json.Unmarshal(lines.Bytes(), &opened); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if opened.Event != "opened" {
			continue
		}
		if opened.Retry {
			_, _ = io.WriteString(in, `{"say":""}`+"\n") // it may have been killed by now
		}
		_, _ = io.WriteString(in, `{"save":true}`+"\n"+`{"end":true}`+"\n")
	}
	_ = cmd.Wait() // the exit code says it
	code := cmd.ProcessState.ExitCode()
	if code > 0 {
		t.Logf("%s", stderr.String())
	}
	return code
}
