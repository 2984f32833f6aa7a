package selecting

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/grade/selection"
	"batch.example/batch/internal/printable"
	"batch.example/batch/internal/regular"
	"batch.example/batch/results/grades"
)

// Program is an executable that chooses. Make it with [NewProgram].
type Program struct {
	Name    string        // as it was given
	Environ []string      // all of its environment
	Timeout time.Duration // for one instance

	path   string
	digest string // SHA-256 of the file
}

// NewProgram finds a program as a shell does. One that does not exist or cannot be executed is a Usage
// fault.
func NewProgram(name string, environ []string, timeout time.Duration) (*Program, error) {
	path, err := exec.LookPath(name)
	if err == nil || errors.Is(err, exec.ErrDot) { // a name without a slash is also a file in the current folder
		path, err = filepath.Abs(path)
	}
	var f io.ReadCloser
	if err == nil {
		f, err = regular.Open(path)
	}
	sum := sha256.New()
	if err == nil {
		_, err = io.Copy(sum, f)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "--by "+name, err).WithHint("expected majority, or a program that reads candidates and prints the number of one: see `batch select --help`")
	}
	return &Program{Name: name, Environ: environ, Timeout: timeout, path: path, digest: hex.EncodeToString(sum.Sum(nil))}, nil
}

// question is what a program reads.
type question struct {
	InstanceID       string   `json:"instance_id"`
	Repo             string   `json:"repo"`
	BaseCommit       string   `json:"base_commit"`
	Image            string   `json:"image"`
	ProblemStatement string   `json:"problem_statement"`
	Candidates       []option `json:"candidates"`
}

// option is a patch that some attempts made.
type option struct {
	Number   int    `json:"number"` // from 1
	Attempts []int  `json:"attempts"`
	Patch    string `json:"patch"` // bytes that are not UTF-8 are replaced
	SHA256   string `json:"patch_sha256"`
}

func (c *choice) question(groups []selection.Group) question {
	q := question{InstanceID: c.id, Repo: c.in.Repo, BaseCommit: c.in.BaseCommit, Image: c.in.ImageName(""), ProblemStatement: c.in.ProblemStatement}
	for i, g := range groups {
		q.Candidates = append(q.Candidates, option{i + 1, g.Attempts, strings.ToValidUTF8(string(g.Patch), "\uFFFD"), grades.PatchDigest(string(g.Patch))})
	}
	return q
}

const (
	maxAnswer = 4 << 10 // bytes that a program may print
	maxStderr = 4 << 10 // bytes of its standard error that are recorded, from the end
	endDelay  = time.Second
)

// ask runs the program, and ends it with all that it started. It returns the number that the program
// printed and the end of its standard error. An error is an Instance fault: the program is asked again
// when the command is repeated.
func (p *Program) ask(outer context.Context, q question) (number int, stderr string, err error) {
	input, err := json.Marshal(q)
	if err != nil {
		return 0, "", fault.New(fault.Bug, "writing candidates", err)
	}
	ctx, cancel := context.WithTimeout(outer, p.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path)
	cmd.Env, cmd.Stdin = p.Environ, bytes.NewReader(append(input, '\n'))
	out, said := ends{most: maxAnswer + 1}, ends{most: maxStderr}
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = endDelay // a process that left the group may have the pipes
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left running
	}
	op := fmt.Sprintf("%s at %s", p.Name, q.InstanceID)
	stderr = strings.ToValidUTF8(string(said.text), "\uFFFD")
	switch {
	case outer.Err() != nil:
		return 0, stderr, context.Cause(outer)
	case ctx.Err() != nil:
		return 0, stderr, fault.Newf(fault.Instance, "%s: it took longer than %v", op, p.Timeout).WithHint("raise --timeout")
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return 0, stderr, fault.Newf(fault.Instance, "%s: %w%s", op, err, lastLine(stderr))
	}
	answer := strings.TrimSpace(string(out.text))
	number, err = strconv.Atoi(answer)
	if err != nil || number < 1 || number > len(q.Candidates) {
		return 0, stderr, fault.Newf(fault.Instance, "%s: it printed %.60q, expected a number from 1 to %d%s", op, answer, len(q.Candidates), lastLine(stderr))
	}
	return number, stderr, nil
}

// lastLine is the last line of a text, as the continuation of a sentence.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return "; it wrote: " + printable.Line(last[:min(len(last), 200)])
	}
	return ""
}

// ends is a writer that keeps the last bytes.
type ends struct {
	most int
	text []byte
}

// Write implements [io.Writer].
func (e *ends) Write(p []byte) (int, error) {
	e.text = append(e.text, p...)
	if more := len(e.text) - e.most; more > 0 {
		e.text = append(e.text[:0], e.text[more:]...)
	}
	return len(p), nil
}
