package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"batch.example/batch/llm"
	"batch.example/batch/session"
)

// childVariable is the environment variable with which a test starts itself as another
// process: see child.
const childVariable = "BATCH_SESSION_TEST"

// task is the work of another process.
type task struct {
	Place  string
	ID     string
	Dir    string // of the environment
	URL    string // of the model
	Once   bool   // has one turn, and dies
	KillAt int    // dies at this point; 0: at none
}

// child does what the value of childVariable asks for, writes what the test wants to know,
// and returns when the process may end.
func child(value string, out io.Writer) error {
	var c task
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := files(c.Place).open(c.Place, c.ID)
	if err != nil {
		return err
	}
	if c.Once {
		sess, err := c.session(ctx, store)
		if err != nil {
			return err
		}
		if _, err := sess.Turn(ctx, c.input("the first words", &points{})); err != nil {
			return err
		}
		die()
	}
	p := &points{killAt: int64(c.KillAt)}
	if err := c.talk(ctx, &pointed{store, p}, p); err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, p.passed.Load()) // how many points there were
	return err
}

// die ends this process as kill -9 does.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// points counts the points at which a process may die.
type points struct {
	killAt int64
	passed atomic.Int64
}

func (p *points) at() {
	if p.passed.Add(1) == p.killAt {
		die()
	}
}

// pointed is a store with a point before each operation that writes.
type pointed struct {
	session.Store
	p *points
}

// Append implements [session.Store].
func (s *pointed) Append(typ string, data any) error {
	s.p.at()
	return s.Store.Append(typ, data)
}

// Flush implements [session.Store].
func (s *pointed) Flush() error {
	s.p.at()
	return s.Store.Flush()
}

// Sync implements [session.Store].
func (s *pointed) Sync() error {
	s.p.at()
	return s.Store.Sync()
}

// session returns the session on a store, started.
func (c *task) session(ctx context.Context, store session.Store) (*session.Session, error) {
	loop, err := newLoop()
	if err != nil {
		return nil, err
	}
	s := session.New(session.Config{ContextID: c.ID, Store: store, Loop: loop, Metadata: map[string]string{"owner": "test"}})
	return s, s.Start(ctx)
}

func (c *task) input(words string, p *points) session.Input {
	return session.Input{Words: words, Model: remoteModel{c.URL, p.at}, Env: folderEnv{c.Dir, p.at}}
}

// words are the person's in a conversation of three turns, and script has the model's
// replies: a turn ends with an answer, one with a question, and one with a submission.
var (
	words  = []string{"the first words", "the second words", "the answer"}
	script = []answer{
		bash("one a", "one b"), bash("one c"), say("the first turn is done"),
		bash("two a"),
		{Text: "a call that there is not", Calls: []llm.ToolCall{{ID: "x", Name: "fly", Arguments: "{}"}}},
		ask("which one?"),
		bash("three a"), bash("submit the patch\n"),
	}
)

// talk continues the conversation, wherever it stands, to its end. After each turn it
// saves an artifact.
func (c *task) talk(ctx context.Context, store session.Store, p *points) error {
	s, err := c.session(ctx, store)
	if err != nil {
		return err
	}
	for turn := s.State().Turns; ; turn++ {
		if s.State().Retry {
			if _, err := s.Turn(ctx, c.input("", p)); err != nil {
				return err
			}
		}
		if err := c.keep(ctx, s, turn); err != nil {
			return err
		}
		if turn == len(words) {
			return s.Shutdown(ctx)
		}
		if _, err := s.Turn(ctx, c.input(words[turn], p)); err != nil {
			return err
		}
	}
}

// keep saves the artifact of a turn that has ended, unless that was done.
func (c *task) keep(ctx context.Context, s *session.Session, turn int) error {
	if turn == 0 {
		return nil
	}
	name := fmt.Sprintf("turn %d", turn)
	list, err := s.Artifacts(ctx)
	if err != nil || slices.ContainsFunc(list, func(a session.Artifact) bool { return a.Name == name }) {
		return err
	}
	return s.SaveArtifact(ctx, name, "text/plain", []byte{byte(turn), 0, 0xff})
}

// start does a task in another process. It fails the test unless the process ends as it
// should, and returns what it said.
func start(t *testing.T, c task, killed bool) (said string) {
	t.Helper()
	value, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(cmd.Environ(), childVariable+"="+string(value))
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if died := ok && status.Signaled() && status.Signal() == syscall.SIGKILL; died != killed || !killed && err != nil {
		t.Fatalf("the process ended with %v; want killed: %v", err, killed)
	}
	return string(out)
}
