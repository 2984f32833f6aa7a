package docker_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker"
)

// alike are scripts that must do the same in the resident shell and in a new
// bash of their own: same output, same exit code.
var alike = []string{
	"", "true", "false", "exit 7", "exit 300", "exit -1", "(exit 3)", "return 5", "# a comment",
	"#!/bin/sh\necho shebang", "\n\n  echo late\n", "echo a; echo b >&2; echo c", "printf 'no newline'",
	"echo $0 $# \"$@\" $*", "echo ${1-none}", "set -- a b; echo $# $2", "echo $-", "echo $SHELLOPTS", "shopt", "set -o",
	"echo $SHLVL", "bash -c 'echo $SHLVL'; true", "echo $LINENO", "echo\necho $LINENO\n\necho $LINENO", "f() {\necho $LINENO\n}\nf",
	"echo $PWD; pwd; pwd -P", "echo [$OLDPWD]; cd -", "cd /tmp; cd -", "declare -p PWD OLDPWD", "env | grep -v HOSTNAME | sort", "export -p | grep -v _=",
	"set | grep -v '^BASHPID\\|^BASH_\\|^PPID\\|^_=\\|^RANDOM\\|^SRANDOM\\|^EPOCH\\|^SECONDS\\|^PIPESTATUS\\|^DIRSTACK\\|^GROUPS'",
	"declare -F", "declare -f", "alias", "trap", "jobs; jobs -p", "wait; echo $?", "hash", "umask", "ulimit -a", "dirs", "history | head -3",
	"((SECONDS < 30)); echo $?", "echo $BASH_COMMAND", "echo $BASH_EXECUTION_STRING", "echo ${FUNCNAME[@]} ${BASH_SOURCE[@]} ${#BASH_LINENO[@]}",
	"caller; echo $?", "echo ${BASH_ARGC[@]} ${BASH_ARGV[@]}", "nosuchcommand", "echo\nnosuchcommand -x", "/no/such/file", "/tmp", "cat /no/such/file",
	"cd /no/such", "local x=1", "readonly r=1; r=2; echo $r", "x=$((1/0)); echo no",
	"set -e; false; echo no", "set -eu; echo $nosuch; echo no", "set -o pipefail; false | true; echo $?",
	"trap 'echo bye' EXIT; echo hi", "trap 'echo bye' EXIT; exit 4", "trap 'echo err $?' ERR; false; true", "trap 'echo dbg' DEBUG; true",
	"trap 'echo term' TERM; kill -TERM $BASHPID; echo on", "kill -TERM $BASHPID", "p=$BASHPID; (for i in {1..99}; do sleep 0.1; kill -CONT $p || break; done 2>/dev/null) & kill -STOP $p; exit 5", "kill -INT $BASHPID; echo no", "kill -9 $BASHPID",
	"exec echo replaced", "exec >/tmp/o; echo hidden; exec cat /tmp/o >&2", "exec 2>&-; nosuchcommand; echo $?", "exec >&-; echo x; exit 6",
	"exec 0<&- 1<&- 2<&-; exit 9", "sleep 0.01 & wait $!; echo $?", "(sleep 0.01; exit 8) & wait %1; echo $?", "false & wait $!; echo $?",
	"echo $(echo sub; exit 3); echo $?", "x=`echo tick`; echo $x", "diff <(echo a) <(echo a) 2>/dev/null; cat <(echo ps)", "cat <<EOF\n$HOME\nEOF",
	"cat <<'EOF'\n$HOME `x` \\\nEOF", "cat <<<here", "read x; echo $? [$x]", "cat; echo $?", "wc -c", "mapfile -t a; echo ${#a[@]}",
	"echo {a..e} *.nosuch ~", "shopt -s nullglob; echo *.nosuch", "shopt -s expand_aliases\nalias hi='echo aliased'\nhi", "alias hi=echo; hi x",
	"for ((i=0;i<3;i++)); do echo $i; done", "case x in (x) echo c;; esac", "[[ abc =~ b ]] && echo ${BASH_REMATCH[0]}", "declare -A m=([k]=v); echo ${m[k]}",
	"printf '%q\\n' $'\\x01\\x7f\\xff'", "printf 'a\\0b\\r\\n'", "echo $'\\x01\\x7f' | cat -v 2>/dev/null; true", "echo é ${#HOME}; x=é; echo ${#x}",
	"TIMEFORMAT=took; time true", "type cd; type -t if", "command -v bash", "builtin echo b", "eval 'exit 11'",
	"source /dev/stdin <<<'echo sourced'", "bash -c 'exit 12'", "bash -c 'kill -9 $$'; echo $?", "(kill -9 $BASHPID); echo $?",
	"nohup echo no hang-up 2>/dev/null", "echo $BASH_ENV", "[ -t 0 ] || echo no terminal; [ -t 1 ] || echo none", "ls -l /proc/self/fd | wc -l",
	"for f in /dev/fd/*; do echo $f; done | sort | head -4", "yes | head -2", "timeout 5 echo in time", "kill 0", "kill -0 0 && echo group",
	"echo a\\\nb", "echo 'multi\nline'", "if true; then\n echo x\nfi\nexit 2", "echo start\necho )\n", "if", "echo 'open", "}", "; echo x", "&& echo x",
	"set -n; echo no", "set -m; sleep 0.01 & fg >/dev/null 2>&1; echo ok", "suspend 2>/dev/null; echo x", "disown; echo $?",
	"exit 1 2; echo on", "exit abc", "unset HOME; echo ~+", "IFS=:; x=a:b; echo $x", "LC_ALL=C; echo $LC_ALL", "LC_ALL=nosuch; echo x", "echo $PS4$PS1",
	"enable -n echo; type -t echo", "function exit { echo own; }; exit 3", "read() { echo own; }; read", "printf() { echo own; }; printf x",
	"unset -f nosuch; unset nosuch; echo $?", "PATH=/nosuch; ls; echo $?", "echo $_x; _bw=1 _bh=2; echo $_bw$_bh", "echo ${_bw-unset}${_bs-unset}${_bp-unset}",
	"declare -r _bw=1; echo $_bw", "BASH_EXECUTION_STRING=x; echo $BASH_EXECUTION_STRING", "cat /proc/self/oom_score_adj >/dev/null; echo $?",
	"mkdir -p /tmp/d && cd /tmp/d && rm -rf ../d; pwd; ls 2>/dev/null; echo $?", "ulimit -n 100; ulimit -n",
}

// differs makes what is known to differ the same; see the package comment.
func differs(out []byte) string {
	s := strings.ReplaceAll(string(out), "bash: eval: line", "bash: -c: line")
	return killedPid.ReplaceAllString(s, "PID Killed")
}

var killedPid = regexp.MustCompile(`\d+ Killed`)

// unlike are scripts whose effect differs in the resident shell, and how.
var unlike = []struct{ name, script, warm, fresh string }{
	{"an eval more is traced", "set -x; true", "++ true\n", "+ true\n"},
	{"the command is a subshell", "echo $BASH_SUBSHELL", "1\n", "0\n"},
	{"$! is the child before", "[ $! ]; echo $?", "0\n", "1\n"},
	{"no last command replaces bash", "bash -c 'echo $SHLVL'", "2\n", "1\n"},
	{"syntax errors name eval", "if", "bash: eval: line 2: ", "bash: -c: line 2: "},
}

func TestWhereAWarmShellDiffers(t *testing.T) {
	c := start(t, connect(t), docker.Spec{})
	run(t, c, "true")
	for _, tt := range unlike {
		t.Run(tt.name, func(t *testing.T) {
			for _, fresh := range []bool{false, true} {
				r := runCommand(t, c, docker.Command{Script: tt.script, Fresh: fresh, Timeout: time.Minute})
				want := tt.warm
				if fresh {
					want = tt.fresh
				}
				if !strings.HasPrefix(string(r.Output), want) {
					t.Errorf("fresh %v: output %q, want %q", fresh, r.Output, want)
				}
			}
		})
	}
}

func TestAWarmShellIsAsANewBash(t *testing.T) {
	e := connect(t)
	start := func() *docker.Container { return start(t, e, docker.Spec{WorkDir: "/testbed"}) }
	warm, fresh := start(), start()
	for _, args := range [][]string{nil, {"bash", "-lc"}} {
		for _, script := range alike {
			t.Run(strings.Join(args, " ")+" "+script, func(t *testing.T) {
				cmd := docker.Command{Args: args, Script: script, Timeout: time.Minute, Env: []string{"HOME=/root"}}
				got := runCommand(t, warm, cmd)
				cmd.Fresh = true
				want := runCommand(t, fresh, cmd)
				if diff := cmp.Diff(differs(want.Output), differs(got.Output)); diff != "" {
					t.Errorf("output (-new bash +warm shell):\n%s", diff)
				}
				if want.ExitCode != got.ExitCode || want.TimedOut != got.TimedOut {
					t.Errorf("exit code %d (timed out %v), of a new bash %d (%v)", got.ExitCode, got.TimedOut, want.ExitCode, want.TimedOut)
				}
			})
		}
	}
}

// startFile is what an image may have at BASH_ENV: it sets variables, exported
// or not, a function, an option, and prints.
const startFile = "echo activated; export CONDA=testbed PATH=/opt/env/bin:$PATH; plain=1; greet() { echo hello $1; }; shopt -s extglob\n"

func TestStartFilesAreReadOnceAndSeenByAll(t *testing.T) {
	c := start(t, connect(t), docker.Spec{Env: []string{"BASH_ENV=/root/start"}})
	write := func(text string) {
		t.Helper()
		if err := c.CopyIn(t.Context(), "/root/start", 0o644, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write(startFile + "echo x >>/tmp/read\n")
	const script = "echo $CONDA $plain ${PATH%%:*}; greet you; shopt -q extglob && echo on; bash -c 'echo in $CONDA'"
	const want = "testbed 1 /opt/env/bin\nhello you\non\nactivated\nin testbed\n"
	for range 3 {
		if r := run(t, c, script); string(r.Output) != want {
			t.Fatalf("output %q, want %q", r.Output, want)
		}
	}
	if r := run(t, c, "wc -l </tmp/read"); string(r.Output) != "4\n" { // three nested ones and the shell's
		t.Errorf("read %s times", r.Output)
	}
	run(t, c, "CONDA=other; greet() { echo no; }; unset plain; shopt -u extglob; cd /tmp")
	if r := run(t, c, script); string(r.Output) != want {
		t.Errorf("after a command that changed all: %q", r.Output)
	}
	run(t, c, "sed() { :; }; printf 'CONDA=changed\\n' >>/root/start")
	if r := run(t, c, "echo $CONDA"); string(r.Output) != "changed\n" {
		t.Errorf("after the start file was changed: %q", r.Output)
	}
}

func TestStartFilesThatSuitNoResidentShell(t *testing.T) {
	e := connect(t)
	for _, tt := range []struct{ name, text, want string }{
		{"errexit", "set -e\n", "a\n"},
		{"nounset", "set -u\n", "a\n"},
		{"tracing", "set -x\n", "+ echo a\na\n"},
		{"noglob", "set -f\n", "a\n"},
		{"posix", "set -o posix\n", "a\n"},
		{"a trap", "trap 'echo bye' EXIT\n", "a\nbye\n"},
		{"a debug trap", "trap 'echo dbg' DEBUG\n", "dbg\na\n"},
		{"aliases", "shopt -s expand_aliases; alias echo='echo aliased'\n", "aliased a\n"},
		{"a disabled builtin", "enable -n kill\n", "a\n"},
		{"a function named builtin", "builtin() { command builtin echo never; }\n", "a\n"},
		{"a function named exec", "exec() { echo never; }\n", "a\n"},
		{"functions named as other builtins", "cd() { :; }; read() { :; }; wait() { :; }; printf() { :; }; unset() { :; }\n", "a\n"},
		{"an exit", "exit 3\n", ""},
		{"an exec", "exec echo gone\n", "gone\n"},
		{"a locale, a field separator and a time-out", "export LC_ALL=C.UTF-8 IFS=0123456789. TMOUT=1\n", "a\n"},
		{"read-only names", "readonly x=1 PS4='# '\n", "a\n"},
		{"a syntax error", "if\n", "a\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, e, docker.Spec{Env: []string{"BASH_ENV=/start"}})
			if err := c.CopyIn(t.Context(), "/start", 0o644, []byte(tt.text)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if r := run(t, c, "echo a"); !strings.HasSuffix(string(r.Output), tt.want) || r.TimedOut {
					t.Errorf("output %q, code %d; want %q", r.Output, r.ExitCode, tt.want)
				}
			}
		})
	}
}
