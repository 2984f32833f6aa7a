// Package verifier judges a task in Harbor's format: it runs the task's own verifier, tests/test.sh, in
// the container in which an agent has worked, and reads the reward that it leaves. The verifier of a
// task may have an environment of its own: then it runs there, over the artifacts of the agent's
// container.
//
// The verifier begins after every process of the agent has ended, /logs/verifier is empty, and the
// task's tests have been copied to /tests: an agent never sees them. When the script has ended, every
// process is ended before the reward is read, by process 1 of the container and by no program of the
// image. So a reward that the agent has written, before or in the background, does not count.
//
// The reward is /logs/verifier/reward.json, an object of numbers, or if there is none reward.txt, a
// number with the name reward. The exit code of the script means nothing. A verifier that ends without
// a valid reward, or does not end, has given no reward, which is a verdict: otherwise an agent could
// leave the score by breaking its verifier. An error is a fault of the engine or the machine, and says
// nothing about the agent.
//
// Its API is not promised to other programs: see package batch.
package verifier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"batch.example/batch/dataset/harbor"
	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/regular"
	"batch.example/batch/vocab"
)

// Box is the container of a task.
type Box interface {
	// Clear ends all processes.
	Clear(ctx context.Context) error
	// RunAs runs a script as a user, with further variables as NAME=value; an empty user is the image's.
	// It may return [vocab.ErrDestroyed] if the agent has made the container unable to run commands.
	RunAs(ctx context.Context, user string, env []string, c vocab.Command) (vocab.Output, error)
	// Write writes a file as root, and creates missing directories.
	Write(ctx context.Context, name string, mode fs.FileMode, data []byte) error
	// Read reads a file as root, without a program of the container. A missing one is fs.ErrNotExist.
	Read(ctx context.Context, name string) ([]byte, error)
	// Entrypoint starts the image's ENTRYPOINT again.
	Entrypoint(ctx context.Context) error
}

const (
	root     = "root"
	testsDir = "/tests"
	solution = "/solution"
	logs     = harbor.LogsVerifier
	stdout   = logs + "/test-stdout.txt"

	preparation = 10 * time.Minute // for batch's own commands
	mostReward  = 1 << 20          // bytes of a file with rewards
)

// Job is one verification.
type Job struct {
	Task  *harbor.Task
	Open  Open          // the container of a task with a separate verifier; nil: the task has none
	Env   []string      // the task's verifier.env, resolved
	Limit time.Duration // of the script
}

// Verdict is the result of a verification.
type Verdict struct {
	Verdict vocab.Verdict      // resolved, unresolved or no_reward
	Why     string             // it is not resolved, for a person
	Rewards map[string]float64 // by name; nil: there is no reward
	Notes   []string           // for a person
	Doubt   string             // why it may be wrong; empty: nothing is known
	Output  []byte             // what the verifier printed
	Took    time.Duration      // by the verifier's script
}

func noReward(format string, args ...any) *Verdict {
	return &Verdict{Verdict: vocab.VerdictNoReward, Why: fmt.Sprintf(format, args...)}
}

// Run verifies what an agent has left in a box.
func Run(ctx context.Context, b Box, j Job) (*Verdict, error) {
	v, err := run(ctx, b, j)
	if errors.Is(err, vocab.ErrDestroyed) {
		return noReward("the agent has made its container unable to run the verifier"), nil
	}
	return v, err
}

func run(ctx context.Context, b Box, j Job) (*Verdict, error) {
	if j.Task.Separate != nil {
		return runSeparate(ctx, b, j)
	}
	if err := b.Clear(ctx); err != nil {
		return nil, err
	}
	if why, err := empty(ctx, b, logs, testsDir); why != "" || err != nil {
		return noReward("%s", why), err
	}
	if err := Upload(ctx, b, j.Task.Dir, harbor.TestsDir, testsDir); err != nil {
		return noReward("the tests could not be copied into the container: %v", err), unlessInstance(err)
	}
	if err := b.Entrypoint(ctx); err != nil {
		return nil, err
	}
	return judgeIn(ctx, b, j)
}

// judgeIn runs the verifier in a container that is ready for it, and reads its reward.
func judgeIn(ctx context.Context, b Box, j Job) (*Verdict, error) {
	script := testsDir + "/" + harbor.TestScript
	if _, err := b.RunAs(ctx, root, nil, vocab.Command{Script: "chmod +x " + script, Dir: "/", Timeout: preparation}); err != nil {
		return nil, err
	}
	// As in Harbor the output is in a file. So no process that holds a pipe can delay the end.
	out, err := b.RunAs(ctx, j.Task.VerifierUser, j.Env, vocab.Command{Script: script + " >" + stdout + " 2>&1", Timeout: j.Limit})
	if err != nil {
		return nil, err
	}
	if err := b.Clear(ctx); err != nil {
		return nil, err
	}
	v, err := read(ctx, b)
	if err != nil {
		return nil, err
	}
	if out.TimedOut {
		v = noReward("%s did not end within %v", script, j.Limit)
	} else if v.Rewards == nil && out.ExitCode != 0 {
		v.Why += fmt.Sprintf("; %s ended with exit code %d", script, out.ExitCode)
	}
	v.Took = out.Duration
	v.Output, _ = b.Read(ctx, stdout) // without it, the verdict stands
	if line := offline().Find(v.Output); line != nil && v.Verdict != vocab.VerdictResolved {
		v.Doubt = fmt.Sprintf("the verifier could not reach something: %.200q", bytes.TrimSpace(line))
	}
	return v, nil
}

// offline matches the line of a program that could not download something. Verifiers often give the
// reward 0 then.
var offline = lazy.Regexp(`(?im)^.*(?:could not resolve|temporary failure (?:in name resolution|resolving)|name or service not known|network is unreachable|` +
	`failed to establish a new connection|error sending request for url|failed to connect to).*$`)

// unlessInstance returns an error that is not the container's, such as a full disk of its own.
func unlessInstance(err error) error {
	if fault.KindOf(err) == fault.Instance {
		return nil
	}
	return err
}

// empty removes folders and makes the verifier's an empty one. It says why it could not: the agent may have replaced
// the programs that do it.
func empty(ctx context.Context, b Box, folders ...string) (why string, err error) {
	out, err := b.RunAs(ctx, root, nil, vocab.Command{
		Script: fmt.Sprintf("rm -rf %s && mkdir -p %s && chmod 777 %[2]s", strings.Join(folders, " "), logs), Dir: "/", Timeout: preparation,
	})
	if err != nil {
		return "", err
	}
	if out.ExitCode != 0 {
		return fmt.Sprintf("%s could not be emptied: %.300s", logs, bytes.TrimSpace(out.Bytes)), nil
	}
	for _, name := range []string{rewardJSON, rewardText} {
		if _, exists, err := readFile(ctx, b, name); exists || err != nil {
			return fmt.Sprintf("%s could not be emptied: %s is still there", logs, name), unlessInstance(err)
		}
	}
	return "", nil
}

// read returns the verdict of the reward files.
func read(ctx context.Context, b Box) (*Verdict, error) {
	data, isJSON, err := readFile(ctx, b, rewardJSON)
	if err != nil {
		return noReward("%v", err), unlessInstance(err)
	}
	text, isText, err := readFile(ctx, b, rewardText)
	if err != nil {
		return noReward("%v", err), unlessInstance(err)
	}
	if !isJSON && !isText {
		return noReward("the verifier left neither %s nor %s", rewardJSON, rewardText), nil
	}
	if !isJSON {
		return judge(parseText(text)), nil
	}
	v := judge(parseJSON(data))
	if isText {
		other, err := parseText(text)
		if s := score(v.Rewards); err != nil || s == nil || *s != other[rewardKey] {
			v.Notes = append(v.Notes, rewardText+" says something else, and does not count")
		}
	}
	return v, nil
}

// readFile returns a file, and whether it exists.
func readFile(ctx context.Context, b Box, name string) (data []byte, exists bool, err error) {
	data, err = b.Read(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// Upload copies a folder of a task to an absolute path of the container, as root.
func Upload(ctx context.Context, b Box, dir, folder, to string) error {
	script := "mkdir -p " + to
	err := harbor.Walk(path.Join(dir, folder), func(f harbor.Entry) error {
		name := to + "/" + f.Name
		switch {
		case f.Mode.IsDir():
			script += "\nmkdir -p " + bash.Quote(name)
			return nil
		case f.Link != "":
			script += "\nmkdir -p " + bash.Quote(path.Dir(name)) + "\nln -sf " + bash.Quote(f.Link) + " " + bash.Quote(name)
			return nil
		}
		data, err := regular.ReadFile(f.Path)
		if err != nil {
			return fault.New(fault.Usage, "reading the task", err)
		}
		mode := f.Mode.Perm() | 0o444
		if f.Mode&0o100 != 0 {
			mode |= 0o111
		}
		return b.Write(ctx, name, mode, data)
	})
	if err != nil {
		return err
	}
	out, err := b.RunAs(ctx, root, nil, vocab.Command{Script: script, Dir: "/", Timeout: preparation})
	if err == nil && out.ExitCode != 0 {
		err = fault.Newf(fault.Instance, "copying %s into the container: %.300s", folder, strings.TrimSpace(string(out.Bytes)))
	}
	return err
}

// Solve runs the task's solution in place of an agent, as Harbor's oracle does: as the agent's user, at
// most as long as an agent may take. Env is the task's solution.env, resolved. The exit code of the
// script means nothing: the verifier says whether it is right.
func Solve(ctx context.Context, b Box, t *harbor.Task, env []string, limit time.Duration) error {
	if err := Upload(ctx, b, t.Dir, harbor.SolutionDir, solution); err != nil {
		return err
	}
	script := solution + "/" + harbor.SolveScript
	if _, err := b.RunAs(ctx, root, nil, vocab.Command{Script: "chmod +x " + script, Dir: "/", Timeout: preparation}); err != nil {
		return err
	}
	_, err := b.RunAs(ctx, t.AgentUser, env, vocab.Command{Script: script + " >" + harbor.LogsAgent + "/oracle.txt 2>&1", Timeout: limit})
	return err
}
