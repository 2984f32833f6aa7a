package talk

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"batch.example/batch/e2e"
)

// typist drives a program on a terminal of its own, as a person does.
type typist struct {
	t        *testing.T
	terminal *os.File
	cmd      *exec.Cmd

	mu   sync.Mutex
	out  bytes.Buffer
	seen int // of out, by expect
	more chan struct{}
	done chan struct{} // closed when the program's output has ended
}

func newTypist(t *testing.T, cmd *exec.Cmd) *typist {
	t.Helper()
	ours, theirs := e2e.OpenTerminal(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // ctrl-c reaches it
	err := cmd.Start()
	_ = theirs.Close() // the program has its own copy
	if err != nil {
		t.Fatal(err)
	}
	p := &typist{t: t, terminal: ours, cmd: cmd, more: make(chan struct{}, 1), done: make(chan struct{})}
	go p.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // after leave it has ended
		_ = cmd.Wait()
		<-p.done
		_ = ours.Close()
	})
	return p
}

func (p *typist) read() {
	defer close(p.done)
	buf := make([]byte, 4096)
	for {
		n, err := p.terminal.Read(buf) // which fails when the other end is closed
		p.mu.Lock()
		p.out.Write(buf[:n])
		p.mu.Unlock()
		select {
		case p.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// expect waits for a text after the last one that was expected, and returns what came
// before it.
func (p *typist) expect(text string) string {
	p.t.Helper()
	patience := time.NewTimer(5 * time.Minute)
	defer patience.Stop()
	for ended := false; ; {
		p.mu.Lock()
		rest := p.out.String()[p.seen:]
		i := strings.Index(rest, text)
		if i >= 0 {
			p.seen += i + len(text)
		}
		p.mu.Unlock()
		switch {
		case i >= 0:
			return rest[:i]
		case ended:
			p.t.Fatalf("the program ended without %q after\n%s", text, rest)
		}
		select {
		case <-p.more:
		case <-p.done:
			ended = true
		case <-patience.C:
			p.t.Fatalf("waited too long for %q after\n%s", text, rest)
		}
	}
}

func (p *typist) send(text string) {
	p.t.Helper()
	if _, err := p.terminal.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// answer waits for a question and answers it with a line.
func (p *typist) answer(prompt, line string) {
	p.t.Helper()
	p.expect(prompt)
	p.send(line + "\n")
}

// recorded waits until a file contains a text.
func (p *typist) recorded(path, text string) {
	p.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(text)) {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("%s has no %s", path, text)
		}
	}
}

// ends waits for the program's end and returns its exit code.
func (p *typist) ends() int {
	p.t.Helper()
	<-p.done
	_ = p.cmd.Wait() // the exit code says it
	return p.cmd.ProcessState.ExitCode()
}

const (
	askWords   = "you> "
	askApprove = "run it? Enter, words to reject, /h> "
	askCommand = "$ "
	askComment = "comment, or Enter to continue> "
	ctrlC      = "\x03"
)

// talkScript is the script of the model in [TestAChatOnATerminal].
const talkScript = `"*":
  - content: "I write one."
    bash: "echo one > one.txt"
  - content: "I remove everything."
    bash: "rm -rf /"
  - "Sorry. What now?"
  - content: "A long one."
    bash: "echo begun; sleep 3000"
  - "I was stopped, and read why."
  - content: "In yolo."
    bash: "echo two > two.txt"
  - "Done."
`

// TestAChatOnATerminal is a person who does everything that a person can do.
func TestAChatOnATerminal(t *testing.T) {
	e2e.NeedDocker(t)
	t.Parallel()
	dir := t.TempDir()
	e2e.WriteFiles(t, dir, map[string]string{"talk.yaml": talkScript})
	chat := func() *typist {
		return newTypist(t, e2e.Batch(t, dir, "chat", "--image", "batch-demo/demo__slug-1", "-m", "scripted/talk.yaml", "-o", "talk"))
	}
	p := chat()
	p.answer(askWords, "/h")
	p.expect("ctrl-c stops the agent")
	p.answer(askWords, "/nonsense")
	p.expect("/nonsense: no such command; /h lists them")
	p.answer(askWords, "write \\")
	p.send("a file\n")

	p.expect("agent> I write one.")
	p.expect("bash> echo one > one.txt")
	p.answer(askApprove, "") // runs it
	p.expect("agent> I remove everything.")
	p.answer(askApprove, "too much")
	p.expect("agent> Sorry. What now?")
	p.expect("the agent has finished its turn")
	p.answer(askWords, "/d")
	p.expect("+++ b/one.txt")
	p.answer(askWords, "/m 2")
	if got := p.expect("Sorry. What now?"); !strings.Contains(got, "The user rejected your commands with the following message: too much") {
		t.Errorf("/m 2 shows %q; want the rejection", got)
	}

	// A command is stopped, and the agent reads why.
	p.answer(askWords, "a long one")
	p.answer(askApprove, "")
	p.recorded(filepath.Join(dir, "talk", "demo__slug-1", "journal.jsonl"), `"command":"echo begun; sleep 3000"`)
	p.send(ctrlC)
	if got := p.expect("interrupted"); strings.Contains(got, "failed") {
		t.Errorf("the interruption is shown as a failure: %q", got)
	}
	p.answer(askComment, "not so long")
	p.expect("agent> I was stopped, and read why.")

	// The person's own command, and back.
	p.answer(askWords, "/u")
	p.expect("mode human")
	p.answer(askWords, "my turn")
	p.answer(askCommand, "echo mine > mine.txt; cat mine.txt")
	p.expect("\r\n  mine\r\n")
	p.answer(askCommand, "/y")
	p.expect("mode yolo")
	p.expect("agent> In yolo.")
	p.expect("agent> Done.")
	p.answer(askWords, "/s")
	p.expect("saved a diff of ")
	p.expect(askWords)
	p.send(ctrlC)
	p.expect("interrupt again, or /q, to leave")
	p.send(ctrlC)
	p.expect("left; the same command continues the conversation")
	if code := p.ends(); code != e2e.ExitIncomplete {
		t.Errorf("exit code %d after leaving, want %d", code, e2e.ExitIncomplete)
	}

	p = chat()
	p.expect("continued after 4 turns")
	p.answer(askWords, "/k")
	p.expect("the conversation ended; its result is in talk/preds.json")
	if code := p.ends(); code != e2e.ExitOK {
		t.Errorf("exit code %d after the end, want %d", code, e2e.ExitOK)
	}
	var preds map[string]struct {
		Patch string `json:"model_patch"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "talk", "preds.json"))
	if err == nil {
		err = json.Unmarshal(text, &preds)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one.txt", "two.txt", "mine.txt"} {
		if patch := preds["demo__slug-1"].Patch; !strings.Contains(patch, "+++ b/"+name) {
			t.Errorf("the prediction lacks %s: %q", name, patch)
		}
	}
}
