package talk

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"batch.example/batch/attempt/chat"
	"batch.example/batch/e2e"
	"batch.example/batch/internal/tier"
)

// slow is a command that says how often it was started, once it may end.
const slow = "echo started >> starts; until test -e /tmp/go; do sleep 0.1; done; cat starts"

// A conversation is killed while a command runs. The next process neither offers the command nor
// starts it again: it has the result from the container or, if that is gone, says that nothing is
// known. Only in mode yolo, the command runs again then.
func TestACommandThatAKillCutOffIsNotOfferedAgain(t *testing.T) {
	tier.Rest(t, "attempt/chat", "attempt/session", "attempt/*.go", "agent/*.go", "journal", "cmd/batch/chat*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	script := fmt.Sprintf("\"*\":\n  - bash: %q\n  - \"Seen.\"\n", slow)
	for name, c := range map[string]struct {
		args  []string
		lost  bool
		again bool
		words string
	}{
		"the person's":           {args: []string{"-m", "noop", "--mode", "human"}},
		"the person's, lost":     {args: []string{"-m", "noop", "--mode", "human"}, lost: true},
		"the agent's":            {args: []string{"-m", "scripted/talk.yaml", "--mode", "confirm"}},
		"the agent's, and words": {args: []string{"-m", "scripted/talk.yaml", "--mode", "confirm"}, words: "continue"},
		"the agent's, lost":      {args: []string{"-m", "scripted/talk.yaml", "--mode", "confirm"}, lost: true},
		"the agent's, run again": {args: []string{"-m", "scripted/talk.yaml", "--mode", "yolo"}, lost: true, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			prefix := e2e.OwnRows(t, dir)
			e2e.WriteFiles(t, dir, map[string]string{"talk.yaml": script})
			defer e2e.Keep(filepath.Join(dir, "talk"))()
			args := append([]string{"--subset", "rows.jsonl", prefix + "0", "-o", "talk", "-c", "environment.timeout=240"}, c.args...)

			first := startTalk(t, dir, args...)
			first.until("tool_call", map[string]string{"words": `{"say":"begin"}`, "command": fmt.Sprintf(`{"command":%q}`, slow), "approve": `{"approve":true}`})
			first.awaitStart()
			if err := first.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = first.cmd.Wait() // it was killed
			if c.lost {
				e2e.RemoveContainers(t, dir)
			}

			second := startTalk(t, dir, args...)
			second.until("opened", nil)
			if cut := second.cut; cut == nil || cut.Command != slow || cut.Lost != c.lost {
				t.Errorf("the conversation opens with the cut %+v, want lost %v", cut, c.lost)
			}
			if !c.lost || c.again {
				e2e.MakeInContainers(t, prefix+"0", "/tmp/go")
			}
			second.until("", map[string]string{
				"words": fmt.Sprintf(`{"say":%q}`, c.words), "command": `{"end":true}`, "approve": `{"end":true}`,
			})
			if code := second.cmd.ProcessState.ExitCode(); code != e2e.ExitOK {
				t.Errorf("exit code %d at the end, want %d", code, e2e.ExitOK)
			}
			all := strings.Join(second.said, "\n")
			if strings.Contains(all, `"asked":"approve"`) {
				t.Errorf("the command is offered again:\n%s", all)
			}
			if got := strings.Contains(all, `"output":"started\n"`); got != (!c.lost || c.again) {
				t.Errorf("the result of the command is shown: %v\n%s", got, all)
			}
			text, err := os.ReadFile(filepath.Join(dir, "talk", prefix+"0", prefix+"0.traj.json"))
			if got := strings.Contains(string(text), "What it did is not known."); err != nil || got != (c.lost && !c.again) {
				t.Errorf("the model reads that the result is not known: %v (%v)", got, err)
			}
		})
	}
}

// A command of the agent that the person has interrupted is not offered to them either, in any
// mode: the agent reads what it printed until then.
func TestAnInterruptedCommandOfTheAgentIsNotOfferedAgain(t *testing.T) {
	tier.Rest(t, "attempt/chat", "attempt/session", "attempt/*.go", "agent/*.go", "journal", "cmd/batch/chat*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	for _, comment := range []string{`{"say":""}`, `{"mode":"human"}`} {
		dir := t.TempDir()
		prefix := e2e.OwnRows(t, dir)
		e2e.WriteFiles(t, dir, map[string]string{"talk.yaml": `"*": [{bash: "echo printed; echo started > starts; sleep 3000"}, Seen.]`})
		k := startTalk(t, dir, "--subset", "rows.jsonl", prefix+"0", "-o", "talk", "-m", "scripted/talk.yaml")
		k.until("tool_call", map[string]string{"words": `{"say":"begin"}`, "approve": `{"approve":true}`})
		k.awaitStart()
		_, _ = io.WriteString(k.in, `{"interrupt":""}`+"\n")
		k.until("", map[string]string{"comment": comment, "approve": `{"end":true}`, "words": `{"end":true}`, "command": `{"end":true}`})
		all := strings.Join(k.said, "\n")
		if strings.Count(all, `"asked":"approve"`) != 1 || !strings.Contains(all, `"output":"printed\n","exit_code":137`) {
			t.Errorf("after %s: want one question about the command, and what it printed:\n%s", comment, all)
		}
		if code := k.cmd.ProcessState.ExitCode(); code != e2e.ExitOK {
			t.Errorf("after %s: exit code %d, want %d", comment, code, e2e.ExitOK)
		}
	}
}

// A command of the person's own that they have interrupted is not offered to them again: they are asked for the
// next one.
func TestAnInterruptedOwnCommandIsNotOfferedAgain(t *testing.T) {
	tier.Rest(t, "attempt/chat", "attempt/session", "attempt/*.go", "agent/*.go", "journal", "cmd/batch/chat*.go")
	e2e.NeedDocker(t)
	t.Parallel()
	for comment, shown := range map[string]string{"": "The user interrupted", "try less": "try less"} {
		dir := t.TempDir()
		prefix := e2e.OwnRows(t, dir)
		k := startTalk(t, dir, "--subset", "rows.jsonl", prefix+"0", "-o", "talk", "-m", "noop", "--mode", "human")
		k.until("tool_call", map[string]string{"command": `{"command":"echo started > starts; sleep 300"}`})
		k.awaitStart()
		fmt.Fprintf(k.in, "{\"interrupt\":%q}\n", comment)
		k.until("", map[string]string{"comment": `{"say":""}`, "command": `{"command":"ls starts"}`, "approve": `{"end":true}`})
		all := strings.Join(k.said, "\n")
		if strings.Contains(all, `"asked":"approve"`) || !strings.Contains(all, `"output":"starts\n"`) {
			t.Errorf("after %q: the command that was stopped is offered again, or the next one is not run:\n%s", comment, all)
		}
		text, err := os.ReadFile(filepath.Join(dir, "talk", prefix+"0", prefix+"0.traj.json"))
		if err != nil || !strings.Contains(string(text), shown) {
			t.Errorf("the trajectory lacks %q (%v)", shown, err)
		}
		if code := k.cmd.ProcessState.ExitCode(); code != e2e.ExitOK {
			t.Errorf("after %q: exit code %d, want %d", comment, code, e2e.ExitOK)
		}
	}
}

// talker is a program that has a conversation.
type talker struct {
	t         *testing.T
	cmd       *exec.Cmd
	in        io.Writer
	lines     *bufio.Scanner
	said      []string
	container string
	cut       *chat.Cut
}

func startTalk(t *testing.T, dir string, args ...string) *talker {
	t.Helper()
	cmd := e2e.Batch(t, dir, append([]string{"chat", "--no-tty"}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := &talker{t: t, cmd: cmd, in: in, lines: bufio.NewScanner(out)}
	k.lines.Buffer(nil, 1<<20)
	return k
}

// awaitStart waits until the file starts is there, which a command makes.
func (k *talker) awaitStart() {
	k.t.Helper()
	cmd := exec.CommandContext(k.t.Context(), "docker", "exec", k.container, "sh", "-c", "until test -e /testbed/starts; do sleep 0.1; done")
	if out, err := cmd.CombinedOutput(); err != nil {
		k.t.Fatalf("%v\n%s", err, out)
	}
}

// until answers questions until an event, or without one to the program's end. A question that
// is asked for the second time ends the conversation.
func (k *talker) until(event string, answers map[string]string) {
	k.t.Helper()
	for k.lines.Scan() {
		var e struct {
			Event, Asked, Container string
			Cut                     *chat.Cut
		}
		if err := json.Unmarshal(k.lines.Bytes(), &e); err != nil {
			k.t.Fatalf("%q: %v", k.lines.Text(), err)
		}
		k.said = append(k.said, k.lines.Text())
		if e.Event == "opened" {
			k.container, k.cut = e.Container, e.Cut
		}
		if answer, ok := answers[e.Asked]; ok {
			_, _ = io.WriteString(k.in, answer+"\n") // the lines show whether it was read
			answers[e.Asked] = `{"end":true}`
		}
		if e.Event == event {
			return
		}
	}
	_ = k.cmd.Wait() // the exit code says it
	if event != "" {
		k.t.Fatalf("no %s in\n%s", event, strings.Join(k.said, "\n"))
	}
}
