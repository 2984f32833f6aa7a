// Package scripttest runs testscript files, with the commands that the project's scripts share.
// A program "batch" must be on the PATH.
//
// Its API is not promised to other programs: see package batch.
package scripttest

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"batch.example/batch/internal/tier"
)

// patience is how long a script waits for something to happen, on a busy machine too.
const patience = 5 * time.Minute

// Command is a command of a script.
type Command = func(*testscript.TestScript, bool, []string)

// Params has the commands and settings that a package adds to its scripts.
type Params struct {
	Commands map[string]Command
	Docker   func() bool // the condition [docker]; nil is no such condition
}

// Run runs the scripts in testdata/script: each file is one session at a prompt. Besides the
// commands of testscript and of p, scripts have
//
//	exits CODE COMMAND [ARG...]               runs a command, which must end with that code
//	refused CODE COMMAND SUBCOMMAND [ARG...]  the same error with and without --dry-run
//	await 'BASH'                              repeats a line of bash until it succeeds
//
// HOME is the script's folder, and TESTDATA the package's testdata. SHARED is the folder of real data
// beside the project, and the condition [shared] says whether it is there. A script that begins with
//
//	[left:PATH,PATH...] skip 'left to make test-all'
//
// runs in `make test` only if a file at or below one of the paths has changed: see [tier.Rest].
func Run(t *testing.T, p Params) {
	t.Helper()
	data := filepath.Join(filepath.Dir(tier.Root), "shared", "data")
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]Command{"exits": exits, "refused": refused, "await": await}
	maps.Copy(commands, p.Commands)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("HF_HUB_OFFLINE", "1")
			env.Setenv("SHARED", data)
			env.Setenv("TESTDATA", testdata)
			for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "GORACE"} {
				if v := os.Getenv(name); v != "" {
					env.Setenv(name, v)
				}
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch {
			case cond == "docker" && p.Docker != nil:
				return p.Docker(), nil
			case strings.HasPrefix(cond, "left:"):
				return tier.Left(strings.Split(strings.TrimPrefix(cond, "left:"), ",")...), nil
			case cond == "shared":
				_, err := os.Stat(data)
				return err == nil, nil
			}
			return false, errors.New("unknown condition")
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: refused CODE COMMAND SUBCOMMAND [ARG...]")
	}
	exits(ts, false, append(append([]string{}, args...), "--dry-run"))
	planned := ts.ReadFile("stderr")
	exits(ts, false, args)
	if said := ts.ReadFile("stderr"); said != planned || strings.TrimSpace(said) == "" {
		ts.Fatalf("with --dry-run:\n%s\nwithout:\n%s", planned, said)
	}
}

func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await 'BASH'")
	}
	for end := time.Now().Add(patience); ts.Exec("bash", "-c", args[0]) != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("did not succeed in time: %s", args[0])
		}
	}
}
