// Package program runs a program of the user, and ends it with all that it started.
//
// Its API is not promised to other programs: see package batch.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/internal/printable"
)

// Program is a program to run.
type Program struct {
	Path    string // an absolute one, so that it is not looked for elsewhere
	Args    []string
	Environ []string // all of its environment; nil: that of this process
	Timeout time.Duration
	Most    int // bytes that it may print
}

// TimeoutError says that a program was killed after its Timeout.
type TimeoutError time.Duration

// Error implements error.
func (e TimeoutError) Error() string { return fmt.Sprintf("it took longer than %v", time.Duration(e)) }

const (
	maxStderr = 4 << 10     // bytes
	endDelay  = time.Second // for what has left the process group, and still has the pipes
)

// Run returns what the program printed for the input, and the end of its standard error. The error says
// what the program did wrong, or is the cause of ctx.
func (p Program) Run(ctx context.Context, input []byte) (out []byte, stderr string, err error) {
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, p.Path, p.Args...)
	printed, said := tail{most: p.Most + 1}, tail{most: maxStderr}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Environ, bytes.NewReader(input), &printed, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = endDelay
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left running
	}
	out, stderr = printed.last(), strings.ToValidUTF8(string(said.last()), "\uFFFD")
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case limited.Err() != nil:
		err = TimeoutError(p.Timeout)
	case len(out) > p.Most:
		err = fmt.Errorf("it printed more than %d bytes", p.Most)
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil
	case err != nil:
		err = fmt.Errorf("%w%s", err, LastLine(stderr))
	}
	return out, stderr, err
}

// LastLine is the last line of a text, as the continuation of a sentence.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "; it wrote: " + printable.Line(last[:min(len(last), 200)])
	}
	return ""
}

// tail is a writer that keeps the last bytes.
type tail struct {
	most int
	text []byte // at times twice as many
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	if t.text = append(t.text, p...); len(t.text) > 2*t.most {
		t.text = append(t.text[:0], t.last()...)
	}
	return len(p), nil
}

func (t *tail) last() []byte { return t.text[max(0, len(t.text)-t.most):] }
