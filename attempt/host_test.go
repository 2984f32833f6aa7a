package attempt_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"batch.example/batch/attempt"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/sandbox"
	"batch.example/batch/vocab"
)

// host is a sandbox in a folder of this machine, with real bash and git. The files that the
// solver and the oracle keep in a container's /tmp are in a folder beside it.
type host struct {
	bare
	dir    string
	closed int
}

func (h *host) Execute(ctx context.Context, _, command string) (vocab.Output, error) {
	// The script goes in by file: an argument holds at most 128 KiB.
	script := filepath.Join(h.dir, "..", "script")
	command = inTmp.ReplaceAllString(command, h.tmp()+"/$1")
	if err := errors.Join(os.MkdirAll(h.tmp(), 0o700), os.WriteFile(script, []byte(command), 0o600)); err != nil {
		return vocab.Output{}, err
	}
	cmd := exec.CommandContext(ctx, "bash", script)
	cmd.Dir = h.dir
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return vocab.Output{}, err
	}
	return vocab.Output{Bytes: out, Total: int64(len(out)), ExitCode: cmd.ProcessState.ExitCode()}, nil
}

// inTmp matches the prefix of the names of batch's files in /tmp.
var inTmp = regexp.MustCompile(`/tmp/(\.?batch-)`)

func (h *host) tmp() string { return filepath.Join(h.dir, "..", "tmp") }

func (h *host) Vars() map[string]any { return map[string]any{"cwd": h.dir} }

func (h *host) Script(ctx context.Context, script string) (vocab.Output, error) {
	return h.Execute(ctx, "", script)
}

func (h *host) Alive(context.Context) error { return nil }

func (h *host) Facts() sandbox.Facts {
	return sandbox.Facts{Container: "host", Image: vocab.Image{Ref: "host", ID: "sha256:0"}, Pull: time.Second}
}

func (h *host) Close() error { h.closed++; return nil }

// hosts opens one prepared sandbox.
type hosts struct {
	box *host
	err error
}

func (h hosts) Open(context.Context, sandbox.Opening) (attempt.Sandbox, error) {
	if h.err != nil {
		return nil, h.err
	}
	return h.box, nil
}

// needGit skips a test where git is not installed; where all tests have to run,
// that is a failure.
func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		enginetest.Lacks(t, "git is not installed: patches are not tested")
	}
}

// repo makes a git repository with the files committed.
func repo(t *testing.T, files map[string]string) *host {
	t.Helper()
	needGit(t)
	h := &host{dir: filepath.Join(t.TempDir(), "testbed")}
	for name, content := range files {
		path := filepath.Join(h.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.git(t, "init -q && git add -A && git -c user.name=t -c user.email=t@localhost commit -qm base")
	return h
}

func (h *host) git(t *testing.T, command string) string {
	t.Helper()
	out, err := h.Execute(t.Context(), "", "git "+command)
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("git %s: got %v, exit code %d; want exit code 0, no error\n%s", command, err, out.ExitCode, out.Bytes)
	}
	return string(out.Bytes)
}

func (h *host) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h *host) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// diff returns the working tree's diff and restores the tree.
func (h *host) diff(t *testing.T) string {
	t.Helper()
	d := h.git(t, "diff")
	h.git(t, "checkout -q .")
	return d
}

func TestMain(m *testing.M) {
	// The git settings of the user must not affect the tests.
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	os.Exit(m.Run())
}

func apply(t *testing.T, h *host, patch string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(path, []byte(patch), 0o600); err != nil {
		t.Fatal(err)
	}
	h.git(t, "apply --verbose "+path)
}

// closes and nothing are an Attempt's Keep and Kept when no other try follows.
func closes(c io.Closer) { _ = c.Close() }

func nothing() io.Closer { return nil }
