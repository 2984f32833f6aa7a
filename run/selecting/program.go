package selecting

import (
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
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/grade/program"
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

// question is the input of a program.
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

func (c *choice) question(groups []group) question {
	q := question{InstanceID: c.id, Repo: c.in.Repo, BaseCommit: c.in.BaseCommit, Image: c.in.ImageName(""), ProblemStatement: c.in.ProblemStatement}
	for i, g := range groups {
		q.Candidates = append(q.Candidates, option{i + 1, g.Attempts, strings.ToValidUTF8(string(g.Patch), "\uFFFD"), grades.PatchDigest(string(g.Patch))})
	}
	return q
}

// maxAnswer is how many bytes a program may print.
const maxAnswer = 4 << 10

// ask runs the program. It returns the number that the program printed and the end of its standard error.
// An error is an Instance fault: the program is asked again when the command is repeated.
func (p *Program) ask(ctx context.Context, q question) (number int, stderr string, err error) {
	input, err := json.Marshal(q)
	if err != nil {
		return 0, "", fault.New(fault.Bug, "writing candidates", err)
	}
	out, stderr, err := program.Program{Path: p.path, Environ: p.Environ, Timeout: p.Timeout, Most: maxAnswer}.Run(ctx, append(input, '\n'))
	if ctx.Err() != nil {
		return 0, stderr, err
	}
	answer := strings.TrimSpace(string(out))
	if err == nil {
		number, err = strconv.Atoi(answer)
		if err != nil || number < 1 || number > len(q.Candidates) {
			err = fmt.Errorf("it printed %.60q, expected a number from 1 to %d%s", answer, len(q.Candidates), program.LastLine(stderr))
		}
	}
	if err != nil {
		failed := fault.Newf(fault.Instance, "%s at %s: %w", p.Name, q.InstanceID, err)
		if _, late := errors.AsType[program.TimeoutError](err); late {
			failed = failed.WithHint("raise --timeout")
		}
		return 0, stderr, failed
	}
	return number, stderr, nil
}
