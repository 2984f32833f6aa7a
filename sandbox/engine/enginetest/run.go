package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
)

func (e *suite) runReturnsOutputAndExitCode(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{WorkDir: "/testbed", Env: []string{"IMAGE=yes"}})
	for _, tt := range []struct {
		name string
		cmd  box.Command
		want string
		code int
	}{
		{name: "output and exit code", cmd: box.Command{Script: "echo hi; exit 3"}, want: "hi\n", code: 3},
		{name: "an exit code over 255 wraps", cmd: box.Command{Script: "exit 300"}, code: 44},
		{name: "no output", cmd: box.Command{Script: ""}},
		{
			name: "stdout and stderr stay in order",
			cmd:  box.Command{Script: "for i in 1 2 3; do echo o$i; echo e$i >&2; done"},
			want: "o1\ne1\no2\ne2\no3\ne3\n",
		},
		{
			name: "bytes are exact",
			cmd:  box.Command{Script: `printf 'a\r\nb\rc\0d\xe9\xff\n\n'`},
			want: "a\r\nb\rc\x00d\xe9\xff\n\n",
		},
		{name: "a script that is not UTF-8", cmd: box.Command{Script: "printf %s 'caf\xe9\r'; exit 5"}, want: "caf\xe9\r", code: 5},
		{name: "stdin is empty", cmd: box.Command{Script: "wc -c"}, want: "0\n"},
		{name: "stdin is empty for a script that came through it", cmd: box.Command{Script: "wc -c # \xff"}, want: "0\n"},
		{name: "the directory is the container's", cmd: box.Command{Script: "pwd"}, want: "/testbed\n"},
		{name: "or the command's", cmd: box.Command{Script: "pwd", Dir: "/tmp"}, want: "/tmp\n"},
		{
			name: "a directory that is gone", cmd: box.Command{Script: "pwd", Dir: "/no such"},
			want: "chdir /no such: no such file or directory\n", code: 126,
		},
		{name: "the environment is the container's and the command's", cmd: box.Command{
			Script: `echo "$IMAGE $MINE"`, Env: []string{"MINE=a b"},
		}, want: "yes a b\n"},
		{
			name: "the environment has no variables of batch",
			cmd:  box.Command{Args: []string{"env"}, Script: "-uNOSUCH"},
			want: "HOME=/\nHOSTNAME=\nIMAGE=yes\nPATH=/usr/bin:/bin\n",
		},
		{
			name: "a start file is read, and what it prints is the command's",
			cmd:  box.Command{Script: "true", Env: []string{"BASH_ENV=/tmp/start"}, Fresh: true},
			want: "started\n",
		},
		{
			name: "also when it was read ahead",
			cmd:  box.Command{Script: "true", Env: []string{"BASH_ENV=/tmp/start"}, Ahead: true},
			want: "started\n",
		},
		{
			name: "another interpreter",
			cmd:  box.Command{Args: []string{"bash", "-euc"}, Script: "false; echo no"}, code: 1,
		},
		{name: "a command that kills itself", cmd: box.Command{Script: "kill -9 $$"}, code: 137},
		{name: "a command that kills its group", cmd: box.Command{Script: "kill -9 0"}, code: 137},
		{name: "a command that kills its supervisor lives on", cmd: box.Command{Script: "kill -9 $PPID; sleep 0.1; echo on; exit 8"}, want: "on\n", code: 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(strings.Join(tt.cmd.Env, " "), "/tmp/start") {
				if err := c.CopyIn(t.Context(), "/tmp/start", 0o644, []byte("echo started\n")); err != nil {
					t.Fatal(err)
				}
			}
			tt.cmd.Timeout = Enough
			r := Command(t, c, tt.cmd)
			if r.Total != int64(len(r.Bytes)) {
				t.Errorf("total %d of %d bytes; want total %v", r.Total, len(r.Bytes), int64(len(r.Bytes)))
			}
			if tt.cmd.Args != nil && tt.cmd.Args[0] == "env" {
				r.Bytes = sortedEnv(r.Bytes)
			}
			if diff := cmp.Diff(tt.want, string(r.Bytes)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if r.ExitCode != tt.code || r.TimedOut {
				t.Errorf("code %d (want %d), timed out %v", r.ExitCode, tt.code, r.TimedOut)
			}
		})
	}
}

func (e *suite) runTakesScriptsOfAnySize(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	for _, size := range []int{99 << 10, 101 << 10, 128 << 10, 1 << 20, 3 << 20} {
		t.Run(fmt.Sprintf("%d bytes", size), func(t *testing.T) {
			data := strings.Repeat("0123456789abcde\n", size/16)
			r := Script(t, c, "cat <<'EOF' | wc -c\n"+data+"EOF\ncat; exit 7")
			if got, want := string(r.Bytes), fmt.Sprintln(len(data)); got != want || r.ExitCode != 7 {
				t.Errorf("output %.80q, code %d; want %q and 7", got, r.ExitCode, want)
			}
		})
	}
	t.Run("through a login shell", func(t *testing.T) {
		r := Command(t, c, box.Command{Args: []string{"bash", "-lc"}, Script: "echo ok #" + strings.Repeat("x", 200<<10)})
		if string(r.Bytes) != "ok\n" {
			t.Errorf("output %.80q, code %d; want output %q", r.Bytes, r.ExitCode, "ok\n")
		}
	})
}

func (e *suite) runKeepsHeadAndTailOfALongOutput(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	r := Command(t, c, box.Command{
		Script: "echo begin; yes | head -c 50000000; echo end", Timeout: Enough, Limit: 1000,
	})
	if len(r.Bytes) != 1000 || r.Total != 50000010 || r.ExitCode != 0 {
		t.Fatalf("kept %d of %d, code %d; want 1000 bytes, total 50000010, exit code 0", len(r.Bytes), r.Total, r.ExitCode)
	}
	if !bytes.HasPrefix(r.Bytes, []byte("begin\ny\n")) || !bytes.HasSuffix(r.Bytes, []byte("y\nend\n")) {
		t.Errorf("output %.20q ... %q", r.Bytes, r.Bytes[980:])
	}
}

func (e *suite) runKillsTheWholeTreeAtTheTimeout(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	trees := []struct{ name, script, want string }{
		{"a sleeping command", "echo before; sleep 600", "before\n"},
		{"a pipeline", "sleep 601 | cat", ""},
		{"children in sessions of their own", "setsid sleep 602 & setsid setsid sleep 603 & echo $((1+1)); sleep 604", "2\n"},
		{"children that lost their parent", "(setsid nohup sleep 605 >/dev/null 2>&1 &) ; (sleep 606 &) ; echo x; sleep 607", "x\n"},
		{"a child without environment", "env -i /usr/bin/setsid /usr/bin/sleep 608 & sleep 609", ""},
		{"a command that ignores signals", "trap '' TERM INT HUP; while :; do sleep 1; done", ""},
		{"a stopped command", "kill -STOP $$; sleep 610", ""},
	}
	var all sync.WaitGroup
	for _, tt := range trees { // beside one another: each is killed, and no other with it
		all.Go(func() {
			// A busy machine must start the processes to be killed within this time.
			r, err := c.Run(t.Context(), box.Command{Script: tt.script, Timeout: 20 * time.Second})
			if err != nil || !r.TimedOut || r.ExitCode != -1 || string(r.Bytes) != tt.want || r.Restarted {
				t.Errorf("%s: %v, timed out %v, code %d, restarted %v, output %q; want %q",
					tt.name, err, r.TimedOut, r.ExitCode, r.Restarted, r.Bytes, tt.want)
			}
		})
	}
	all.Wait()
	if left := Processes(t, c); len(left) > 0 {
		t.Errorf("still running: %q, want no process", left)
	}
}

func (e *suite) runDoesNotWaitForABackgroundProcess(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	// A run that waited would wait until its time limit.
	r := Script(t, c, "sleep 600 & while :; do echo noise; sleep 0.01; done & echo started; exit 4")
	if !strings.Contains(string(r.Bytes), "started\n") || r.ExitCode != 4 || r.TimedOut {
		t.Errorf("output %q, exit code %d, timed out %v", r.Bytes, r.ExitCode, r.TimedOut)
	}
	if left := Processes(t, c); len(left) == 0 {
		t.Error("the background process did not survive")
	}
}

// Output of a process substitution after the shell's end belongs to the command, as with
// docker exec.
func (e *suite) runReturnsWhatIsWrittenAMomentAfterTheShellsEnd(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{WorkDir: "/testbed"})
	for script, want := range map[string]string{
		"echo a > >(cat)":                                      "a\n",
		"exec > >(cat) 2>&1; echo a; echo b >&2":               "a\nb\n",
		"echo a 2>&1 >&2 2> >(cat)":                            "a\n",
		"for i in {1..20000}; do echo $i; done > >(tail -n 1)": "20000\n",
	} {
		for _, fresh := range []bool{false, true} {
			r := Command(t, c, box.Command{Script: script, Timeout: Enough, Ahead: true, Fresh: fresh})
			if string(r.Bytes) != want || r.ExitCode != 0 {
				t.Errorf("%s: got %+v, want output %q, exit code 0", script, r, want)
			}
		}
	}
}

func (e *suite) runEndsWhenCancelled(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		AwaitFile(t, c, "/tmp/began")
		cancel()
	}()
	r, err := c.Run(ctx, box.Command{Script: "echo part; echo >/tmp/began; setsid sleep 600 & sleep 600"})
	if !errors.Is(err, context.Canceled) || !fault.Canceled(err) {
		t.Errorf("error %v, want %v, a cancellation", err, context.Canceled)
	}
	if string(r.Bytes) != "part\n" {
		t.Errorf("output %q, want output %q", r.Bytes, "part\n")
	}
	if left := Processes(t, c); len(left) > 0 {
		t.Errorf("still running: %q, want no process", left)
	}
	if _, err := c.Run(ctx, box.Command{Script: "true"}); !fault.Canceled(err) {
		t.Errorf("with a canceled context: %v, want a cancellation", err)
	}
}

func sortedEnv(b []byte) []byte {
	var keep []string
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "HOSTNAME=") {
			line = "HOSTNAME=\n"
		}
		keep = append(keep, line)
	}
	slices.Sort(keep)
	return []byte(strings.Join(keep, ""))
}

// scripts do the same in a container as in bash -c.
var scripts = []string{
	"", "exit 300", "exit -1", "false | true", "true | false; exit ${PIPESTATUS[1]}", "set -e; false; echo no", "set -o pipefail; false | true",
	"echo a; echo b >&2; echo c", "printf 'a\\0b\\xff\\n'", "cat", "read -r line; echo $? \"$line\"", "echo \"$0 $# $-\"",
	"nosuchcommand; echo $?", "nosuchcommand", "cat /no/such/file", "cd /no/such", "/etc", "exec nosuch", ". /no/such", "echo $((1/0)); echo on",
	"f() { return 7; }; f", "trap 'echo bye; exit 3' EXIT; echo hi", "trap 'echo got; exit 5' TERM; kill $$; sleep 1",
	"kill $$", "kill -9 $$", "kill -SEGV $$", "kill -INT $$; echo no", "(exit 4)", "sleep 0.01 & wait $!; echo $?", "echo $BASH_SUBSHELL $SHLVL $BASHPID | wc -w",
	"cat <<'EOF'\n$HOME `id`\nEOF", "shopt; set -o", "umask", "trap", "jobs", "alias", "ulimit -c", "echo ${BASH_SOURCE[@]} ${FUNCNAME[@]} $LINENO", "echo one\necho $LINENO\nnosuch",
	"exec >/dev/null; echo no", "exec 1>&-; echo x; exit $?", "declare -p BASH_ARGV 2>&1; declare -p REPLY", "history; echo $?", "for i in {1..1000}; do echo $i; done",
	"set -u; echo $nosuch; echo no", "while read -r x; do echo $x; done", "echo \"caf\xe9\"", "logout", "return 3", "break", "local x", "exec 3<&0; cat <&3", "[ -t 0 ]", "[ -p /dev/stdin ]; echo",
}

// unreadable are scripts with a syntax error. A bash that was started ahead names eval in its
// message.
var unreadable = []string{"if true; then", "echo 'open", "echo )", "fi"}

func (e *suite) runDoesWhatBashDoes(t *testing.T) {
	t.Parallel()
	c := e.start(t, engine.Spec{})
	for _, script := range slices.Concat(scripts, unreadable) {
		// A command in a container ignores no signal. One of the host ignores what this process ignores,
		// as under nohup, unless env sets its signals.
		cmd := exec.CommandContext(t.Context(), "/usr/bin/env", "--default-signal", "bash", "-c", script)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin", "HOME=/", "HOSTNAME=x"}
		want, err := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		if ended, ok := errors.AsType[*exec.ExitError](err); ok && code < 0 {
			code = 128 + int(ended.Sys().(syscall.WaitStatus).Signal())
		}
		for _, fresh := range []bool{false, true} {
			if !fresh && slices.Contains(unreadable, script) {
				continue
			}
			r := Command(t, c, box.Command{Script: script, Timeout: Enough, Ahead: true, Fresh: fresh})
			if string(r.Bytes) != string(want) || r.ExitCode != code {
				t.Errorf("%q, fresh %v: got %q, exit code %d; bash -c gives %q, %d", script, fresh, r.Bytes, r.ExitCode, want, code)
			}
		}
	}
}
