package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
)

const (
	// politeness is the time that a program may take to end after its stdin has ended, and
	// then again after SIGTERM.
	politeness = time.Second
	// pipeDelay is the time that a program's stderr is read after its end.
	pipeDelay = time.Second
)

// process is a program on this machine, in a process group of its own. Close ends it.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	done   chan struct{} // closed when the program has ended and its group was killed
	close  func() error
}

// startProcess starts a program; it lives until Close. A program that does not exist or may
// not be executed is a Usage fault.
func startProcess(_ context.Context, p Program) (Stream, error) {
	fromServer, serverOut, err := os.Pipe()
	if err != nil {
		return nil, fault.New(fault.Host, "starting the MCP server "+p.Name, err)
	}
	serverIn, toServer, err := os.Pipe()
	if err != nil {
		closeAll(fromServer, serverOut)
		return nil, fault.New(fault.Host, "starting the MCP server "+p.Name, err)
	}
	cmd := exec.Command(p.Args[0], p.Args[1:]...) //nolint:noctx // Close ends it, with its group
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Env, p.Dir, serverIn, serverOut, p.Stderr
	if cmd.Env == nil {
		cmd.Env = []string{} // nil is the environment of this process
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = pipeDelay
	s := &process{cmd: cmd, stdin: toServer, stdout: fromServer, done: make(chan struct{})}
	s.close = sync.OnceValue(s.shut)
	err = cmd.Start()
	closeAll(serverIn, serverOut)
	if err != nil {
		closeAll(fromServer, toServer)
		kind := fault.Transient
		for _, wrong := range []error{exec.ErrNotFound, exec.ErrDot, os.ErrNotExist, os.ErrPermission, syscall.ENOEXEC} {
			if errors.Is(err, wrong) {
				kind = fault.Usage
			}
		}
		return nil, fault.New(kind, "starting the MCP server "+p.Name, err).
			WithHint("check agent.mcp_servers.%s.command", p.Name)
	}
	go s.wait()
	return s, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// wait waits for the program and kills what it leaves in its group. Between the two, the group's number
// could only be taken by a new process if the group is empty, and only after all other numbers.
func (s *process) wait() {
	defer close(s.done)
	_ = s.cmd.Wait() // ProcessState has the exit code
	s.signal(syscall.SIGKILL)
}

func (s *process) signal(sig syscall.Signal) { _ = syscall.Kill(-s.cmd.Process.Pid, sig) }

// Read implements io.Reader: the program's stdout.
func (s *process) Read(p []byte) (int, error) { return s.stdout.Read(p) }

// Write implements io.Writer: the program's stdin.
func (s *process) Write(p []byte) (int, error) { return s.stdin.Write(p) }

// Exit implements [Stream].
func (s *process) Exit() (code int, ended bool) {
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode(), true
	default:
		return 0, false
	}
}

// Close implements io.Closer: as the protocol asks, the program's stdin ends first, then it
// gets SIGTERM, then it is killed with its group.
func (s *process) Close() error { return s.close() }

func (s *process) shut() error {
	_ = s.stdin.Close()
	drained := make(chan struct{})
	go func() { // a program that is stopped by unread output could not end
		defer close(drained)
		_, _ = io.Copy(io.Discard, s.stdout)
	}()
	for _, next := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-s.done:
		case <-time.After(politeness):
			s.signal(next)
		}
	}
	<-s.done
	_ = s.stdout.Close() // ends the drain, even if a process that left the group has the pipe
	<-drained
	return nil
}

const (
	maxLine   = 1 << 10  // bytes of a line that a server writes
	maxLogged = 64 << 10 // bytes of such lines in the log, for each connection
	maxKept   = 300      // bytes of the last line, for errors
)

// diary writes what a program prints beside its messages to the log, line by line, with secrets
// hidden. It is safe for concurrent use.
type diary struct {
	log    *slog.Logger
	mask   *mask.Masker
	server string

	mu     sync.Mutex
	line   []byte
	cut    bool // the line is longer than maxLine
	last   string
	logged int
	full   bool
}

// Write implements io.Writer; it never fails.
func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte{'\n'})
		if room := maxLine - len(d.line); len(part) > room {
			part, d.cut = part[:room], true
		}
		d.line = append(d.line, part...)
		rest = after
		if ended {
			d.end()
		}
	}
	return len(p), nil
}

// end logs the line.
func (d *diary) end() {
	line := string(d.line)
	if d.cut {
		// The masker does not know a secret that was cut in two.
		line = line[:strings.LastIndexByte(line, ' ')+1] + "..."
	}
	d.line, d.cut = d.line[:0], false
	line = strings.ToValidUTF8(strings.TrimSpace(d.mask.Text(line)), string(utf8.RuneError))
	if line == "" {
		return
	}
	d.last = mask.Clip(line, maxKept)
	if d.logged += len(line); d.logged <= maxLogged {
		d.log.Info("an MCP server wrote", "server", d.server, "line", line)
	} else if !d.full {
		d.full = true
		d.log.Log(context.Background(), slog.LevelWarn, "an MCP server writes much beside its messages: the rest is left out", "server", d.server)
	}
}

// lastLine is the last line that was written, with secrets hidden.
func (d *diary) lastLine() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(bytes.TrimSpace(d.line)) > 0 {
		d.end()
	}
	return d.last
}
