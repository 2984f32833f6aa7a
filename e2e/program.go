package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Exit codes of the program, as `batch help exit-codes` has them.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitIncomplete  = 3
	ExitLocked      = 4
	ExitGate        = 5
	ExitInterrupted = 130
)

// Patience is how long a test waits for something to happen: ten times what it takes on a busy machine.
const Patience = 5 * time.Minute

// Main runs the tests of a package, for its TestMain; it does not return. Other programs that the
// tests start by name are in commands.
func Main(m *testing.M, commands map[string]func()) {
	testscript.Main(suite{m}, commands)
}

type suite struct{ *testing.M }

func (s suite) Run() int {
	defer func() {
		for _, dir := range temporary.dirs {
			_ = os.RemoveAll(dir)
		}
	}()
	return s.M.Run()
}

var temporary struct {
	sync.Mutex
	dirs []string
}

// removeAtEnd removes a folder when the tests of the package have ended.
func removeAtEnd(dir string) {
	temporary.Lock()
	defer temporary.Unlock()
	temporary.dirs = append(temporary.dirs, dir)
}

var built struct {
	once sync.Once
	path string
	err  error
}

// Program returns the path of batch, and puts it on the PATH.
func Program(tb testing.TB) string {
	tb.Helper()
	built.once.Do(func() { built.err = find() })
	if built.err != nil {
		tb.Fatal(built.err)
	}
	return built.path
}

func find() error {
	path := os.Getenv("BATCH_PROGRAM")
	if path == "" {
		dir, err := os.MkdirTemp("", "batch-e2e-")
		if err != nil {
			return err
		}
		removeAtEnd(dir)
		path = filepath.Join(dir, "batch")
		if err := build(context.Background(), path, raceEnabled); err != nil {
			return err
		}
	}
	if filepath.Base(path) != "batch" || !filepath.IsAbs(path) {
		return fmt.Errorf("BATCH_PROGRAM is %q, want the absolute path of a program whose name is batch", path)
	}
	built.path = path
	return os.Setenv("PATH", filepath.Dir(path)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Build builds batch without the race detector, for tests of its time or memory, and returns its path.
func Build(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "batch")
	if err := build(tb.Context(), path, false); err != nil {
		tb.Fatal(err)
	}
	return path
}

func build(ctx context.Context, path string, race bool) error {
	cmd := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%t", race), "-ldflags=-s -w", "-o", path, "batch.example/batch/cmd/batch")
	if !race {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as scripts/build, which has compiled it
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building batch: %w\n%s", err, out)
	}
	return nil
}

// Batch is a command that runs the program in dir, which is also where its own state is.
func Batch(tb testing.TB, dir string, args ...string) *exec.Cmd {
	tb.Helper()
	return BatchContext(tb, tb.Context(), dir, args...)
}

// BatchContext is [Batch] with a context of the caller's.
func BatchContext(tb testing.TB, ctx context.Context, dir string, args ...string) *exec.Cmd {
	tb.Helper()
	cmd := exec.CommandContext(ctx, Program(tb), args...)
	cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	cmd.Dir = dir
	return cmd
}

// ExitCode runs a command to its end.
func ExitCode(tb testing.TB, cmd *exec.Cmd) (code int, out string) {
	tb.Helper()
	text, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		tb.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// StartHelper starts a program of a test's in a process of its own, which ends with its standard
// input when tb ends. It returns the first line that the program prints.
func StartHelper(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return strings.TrimSpace(line)
}
