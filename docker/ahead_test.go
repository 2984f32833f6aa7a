package docker_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/docker/containers"
	"batch.example/batch/internal/tier"
	"batch.example/batch/sandbox/engine"
)

// equalScripts are scripts that must do the same in a bash that was started ahead and in a new
// one: same output, same exit code.
var equalScripts = []string{
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

// differs replaces the differences that are known; see the package comment.
func differs(out []byte) string {
	s := strings.ReplaceAll(string(out), "bash: eval: line", "bash: -c: line")
	return killedPid.ReplaceAllString(s, " PID Killed")
}

var killedPid = regexp.MustCompile(` +\d+ Killed`)

// unlike are scripts with another effect in a bash that was started ahead, and which.
var unlike = []struct{ name, script, ahead, fresh string }{
	{"an eval more is traced", "set -x; true", "++ true\n", "+ true\n"},
	{"no last command replaces bash", "bash -c 'echo $SHLVL'", "2\n", "1\n"},
	{"syntax errors name eval", "if", "bash: eval: line 2: ", "bash: -c: line 2: "},
}

func TestDifferencesOfAPrestartedBash(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	runCommand(t, c, containers.Command{Script: "true", Ahead: true})
	for _, tt := range unlike {
		t.Run(tt.name, func(t *testing.T) {
			for _, fresh := range []bool{false, true} {
				r := runCommand(t, c, containers.Command{Script: tt.script, Ahead: true, Fresh: fresh, Timeout: time.Minute})
				want := tt.ahead
				if fresh {
					want = tt.fresh
				}
				if !strings.HasPrefix(string(r.Bytes), want) {
					t.Errorf("fresh %v: output %q, want %q", fresh, r.Bytes, want)
				}
			}
		})
	}
}

func TestAPrestartedBashBehavesLikeANewOne(t *testing.T) {
	t.Parallel()
	e := connect(t)
	start := func() *containers.Container { return start(t, e, engine.Spec{WorkDir: "/testbed"}) }
	ahead, fresh := start(), start()
	for _, args := range [][]string{nil, {"bash", "-lc"}} {
		for _, script := range equalScripts {
			t.Run(strings.Join(args, " ")+" "+script, func(t *testing.T) {
				cmd := containers.Command{Args: args, Script: script, Timeout: time.Minute, Env: []string{"HOME=/root"}, Ahead: true}
				got := runCommand(t, ahead, cmd)
				cmd.Fresh = true
				want := runCommand(t, fresh, cmd)
				if diff := cmp.Diff(differs(want.Bytes), differs(got.Bytes)); diff != "" {
					t.Errorf("output (-new bash +started ahead):\n%s", diff)
				}
				if want.ExitCode != got.ExitCode || want.TimedOut != got.TimedOut {
					t.Errorf("exit code %d (timed out %v), of a new bash %d (%v)", got.ExitCode, got.TimedOut, want.ExitCode, want.TimedOut)
				}
			})
		}
	}
}

// Two ways in which images prepare an environment: conda's hook, which each shell
// calls in its ~/.bashrc, and nvm's functions, which a profile defines.
const (
	conda = `export CONDA_EXE=/opt/conda/bin/conda
conda() { [ "$1" = activate ] && export PATH=/opt/conda/envs/$2/bin:$PATH CONDA_PREFIX=/opt/conda/envs/$2 CONDA_SHLVL=1; }
conda activate testbed
. /root/env.sh
`
	nvm = `nvm_find_up() { printf %s "$1"; }
nvm() { case $1 in use) export NVM_BIN=/opt/node/$2/bin; PATH=$NVM_BIN:$PATH ;; current) echo "$(nvm_find_up "${NVM_BIN##*/node/}")" ;; esac; }
nvm use v20; shopt -s extglob; plain=1
`
)

func TestEachCommandReadsTheCurrentStartFiles(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	do := func(script, want string) {
		t.Helper()
		r := runCommand(t, c, containers.Command{
			Args: []string{"bash", "-lc"}, Env: []string{"HOME=/root", "BASH_ENV=/root/.bashrc"}, Script: script, Ahead: true, Timeout: time.Minute,
		})
		if string(r.Bytes) != want || r.ExitCode != 0 {
			t.Errorf("%s: %q, code %d; want %q", script, r.Bytes, r.ExitCode, want)
		}
	}
	for name, text := range map[string]string{"/root/.bashrc": conda, "/root/.bash_profile": nvm + "\n. ~/.bashrc\n", "/root/env.sh": "export EDITED=no\n"} {
		if err := c.CopyIn(t.Context(), name, 0o644, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	const look = "echo $CONDA_PREFIX ${PATH%%:*} $EDITED $plain; nvm current; shopt -q extglob && bash -c 'echo in $CONDA_SHLVL $EDITED'"
	for _, edited := range []string{"no", "yes", "again"} {
		do("echo export EDITED="+edited+" >/root/env.sh", "")
		do(look, "/opt/conda/envs/testbed /opt/conda/envs/testbed/bin "+edited+" 1\nv20/bin\nin 1 "+edited+"\n")
		do("conda activate other; plain=2; nvm use v18; shopt -u extglob; cd /tmp; nvm() { echo no; }; exec 19<&-", "")
	}
	do("echo 'echo greeting' >>/root/env.sh", "")
	do("true", "greeting\ngreeting\n") // a login shell reads both
}

// A waiting bash may be killed, stopped, or have its directory removed: the next command
// still runs once.
func TestAStalePrestartedBashIsReplaced(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{WorkDir: "/testbed"})
	do := func(script string) string {
		t.Helper()
		r := runCommand(t, c, containers.Command{Script: "echo ran >>/count; " + script, Ahead: true, Timeout: time.Minute})
		return string(r.Bytes)
	}
	do("")
	for n, meanwhile := range []string{
		"for d in /proc/[2-9]* /proc/[1-9][0-9]*; do p=${d#/proc/}; mapfile -d '' a <$d/cmdline && ((p != BASHPID)) && [[ ${a[2]} == *'read -r -N'* ]] && kill -9 $p; done 2>/dev/null; echo >/killed",
		"rm -rf /testbed; mkdir /testbed; echo >/testbed/new",
		"true",
	} {
		do("(sleep 0.1; " + meanwhile + "; echo >/done$$) >/dev/null 2>&1 & echo $! >/dev/null")
		for {
			if r := run(t, c, "ls /done* 2>/dev/null | wc -l"); strings.TrimSpace(string(r.Bytes)) == fmt.Sprint(n+1) {
				break
			}
		}
		if got := do("echo next; ls"); got != "next\n" && got != "next\nnew\n" {
			t.Errorf("after %s: got output %q, want the output of one run", meanwhile, got)
		}
	}
	if got := do("mapfile -t n </count; echo ${#n[@]}"); got != "8\n" {
		t.Errorf("8 commands ran %s times, want %q", got, "8\n")
	}
}

func TestStartFilesWithOptionsAndTraps(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	for n, tt := range []struct{ name, text, want string }{
		{"errexit", "set -e\n", "a\n"},
		{"nounset", "set -u\n", "a\n"},
		{"tracing", "set -x\n", "+ echo a\na\n"},
		{"noglob", "set -f\n", "a\n"},
		{"posix", "set -o posix\n", "a\n"},
		{"a trap", "trap 'echo bye' EXIT\n", "a\nbye\n"},
		{"a debug trap", "trap 'echo dbg' DEBUG\n", "dbg\na\n"},
		{"aliases", "shopt -s expand_aliases; alias echo='echo aliased'\n", "aliased a\n"},
		{"an error trap", "trap 'echo err' ERR\n", "a\n"},
		{"a disabled builtin", "enable -n kill\n", "a\n"},
		{"a disabled eval", "enable -n eval\n", "a\n"},
		{"a disabled read", "enable -n read\n", "a\n"},
		{"functrace", "set -T\n", "a\n"},
		{"read-only names of the loader's", "readonly IFS TMOUT LC_ALL _bn _bl\n", "a\n"},
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
			home := fmt.Sprintf("/home/%d", n)
			profile := home + "/.bash_profile"
			if err := c.CopyIn(t.Context(), profile, 0o644, []byte(tt.text)); err != nil {
				t.Fatal(err)
			}
			for _, cmd := range []containers.Command{
				{Env: []string{"BASH_ENV=" + profile}},
				{Args: []string{"bash", "-lc"}, Env: []string{"HOME=" + home}},
				{Args: []string{"bash", "-l", "-c"}, Env: []string{"HOME=" + home}},
			} {
				cmd.Script, cmd.Ahead, cmd.Timeout = "echo a", true, enough
				for range 2 {
					if r := runCommand(t, c, cmd); !strings.HasSuffix(string(r.Bytes), tt.want) || r.TimedOut {
						t.Errorf("%q: output %q, code %d; want %q", cmd.Args, r.Bytes, r.ExitCode, tt.want)
					}
				}
				cmd.Script = "echo /proc/self/fd/*"
				ahead := runCommand(t, c, cmd)
				cmd.Fresh = true
				if fresh := runCommand(t, c, cmd); string(ahead.Bytes) != string(fresh.Bytes) {
					t.Errorf("%q: output %q; fresh %q; want output %q", cmd.Args, ahead.Bytes, fresh.Bytes, string(fresh.Bytes))
				}
			}
		})
	}
}

// An interpreter that is asked for while a command runs starts after it, so that it reads what the
// command has written.
func TestNoInterpreterStartsBesideACommandThatRuns(t *testing.T) {
	tier.Rest(t)
	t.Parallel()
	c := start(t, connect(t), engine.Spec{})
	like := containers.Command{Env: []string{"BASH_ENV=/start"}, Ahead: true, Timeout: time.Minute}
	first := like
	first.Script = "echo >/begun; until [ -e /go ]; do sleep 0.05; done; sleep 0.3; echo 'echo started' >/start"
	var running sync.WaitGroup
	running.Go(func() {
		if r, err := c.Run(t.Context(), first); err != nil || r.ExitCode != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
	run(t, c, "until [ -e /begun ]; do sleep 0.05; done")
	c.Prepare(t.Context(), like)
	run(t, c, "echo >/go")
	running.Wait()
	next := like
	next.Script = "echo next"
	if r := runCommand(t, c, next); string(r.Bytes) != "started\nnext\n" {
		t.Errorf("got %q, want the output of the start file first", r.Bytes)
	}
}
