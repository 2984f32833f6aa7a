package enginetest

import (
	"errors"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"batch.example/batch/internal/box"
	"batch.example/batch/sandbox/engine"
)

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
			r := runCommand(t, c, box.Command{Script: script, Timeout: enough, Ahead: true, Fresh: fresh})
			if string(r.Bytes) != string(want) || r.ExitCode != code {
				t.Errorf("%q, fresh %v: got %q, exit code %d; bash -c gives %q, %d", script, fresh, r.Bytes, r.ExitCode, want, code)
			}
		}
	}
}
