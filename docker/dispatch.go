package docker

import (
	"fmt"
	"slices"
	"strings"
)

// A dispatcher is the bash that stays in a container and runs one command after
// another. It keeps one child in waiting: a fork of itself that reads the next
// request, becomes the command and ends with it. So the fork is over when the
// command comes, nothing of one command is there in the next, and what the start
// files did is done once and seen by all.
//
// What it says stands in lines that begin with a word only this shell knows:
//
//	g PID NOW     it is ready, NOW clock ticks after the machine's start
//	e CODE HELD   the command ended; HELD is 1 when a process that it left holds
//	              the output, 2 when one does or may hold the dispatcher's input
//	s             the request was not run, and the dispatcher ends
//
// A request is a head (see wire.go), the directory and the script.
//
// The text becomes one line, since bash counts a script's lines from the line of
// the eval. It leaves no variable behind that the script could see, and trusts
// no name that a start file may have given a new meaning: hence "builtin". What
// it cannot live with (shell options, aliases, traps, disabled builtins, functions
// named builtin or exec) makes it end without a word.
//
// Why so: a marker printed behind the script would be passed over by its exec
// and exit, a child forked when the command comes costs a quarter more, and a
// pipe for each command would need a process that copies.
//
// A start file that cannot be read would make every bash complain in every
// output; a name that bash would still expand is left for it to find. When
// memory runs out, the command is to be killed and not its dispatcher. The pipe
// of descriptor 8 is never written to, so that its age is the shell's. A child
// that stops itself before job control is off again looks as if it had ended;
// wait -f, which is for that, loops for ever now and then (bash 5.2).
//
// The two gaps are for the start files and for what runs the script.
const dispatcher = `exec 2>/dev/null 8<> <(:);
[[ $- != *[efnuvxTE]* && $SHELLOPTS != *posix* && -z $(builtin trap -p EXIT DEBUG ERR RETURN CHLD; builtin enable -n; builtin declare -F builtin; builtin declare -F exec) ]] || exit;
builtin shopt -q expand_aliases && exit;
TMOUT= IFS= builtin read -r _bw;
[[ -z $BASH_ENV || $BASH_ENV == *[\\\$$'\x60']* || -r $BASH_ENV ]] || builtin unset -v BASH_ENV;
_bt=(%s);
_bl=${LC_ALL-unset};
IFS=' ' builtin read -r _bx _bp </proc/uptime;
builtin printf '%%sg %%s %%s\n' "$_bw" "$$" "${_bx/./}";
while :; do
builtin set -m;
(
builtin set +m;
builtin printf 300 >/proc/self/oom_score_adj;
LC_ALL=C;
_bn=1;
TMOUT= IFS= builtin read -r -N 59 _bh && [[ ${_bh:0:26} == "$_bw" ]] && builtin kill -0 "$$" &&
TMOUT= IFS= builtin read -r -N "$((10#${_bh:27:15}))" _bd && _bn=0;
BASH_EXECUTION_STRING=;
if ((!_bn)); then
((10#${_bh:43:15} == 0)) || TMOUT= IFS= builtin read -r -N "$((10#${_bh:43:15}))" BASH_EXECUTION_STRING || _bn=1;
fi;
for _bx in "${_bt[@]}"; do [[ $_bx -nt /dev/fd/8 ]] && _bn=1; done;
if ((_bn)); then
builtin printf '%%ss\n' "$_bw"; builtin kill -KILL "$$"; builtin exit;
fi;
_bn=$((10#${_bh:43:15}));
if [[ $_bl == unset ]]; then builtin unset -v LC_ALL; else LC_ALL=$_bl; fi;
exec </dev/null || exec < <(:);
exec 2>&1 8<&-;
builtin cd -P -- "$_bd" || builtin exit 126;
%s
)&
builtin set +m;
builtin wait "$!";
_bc=$?;
while ((_bc > 128)) && builtin kill -0 "$!"; do IFS= builtin read -r -t 1 -u 8 _bx; builtin wait "$!"; _bc=$?; done;
_bs=0;
IFS=' ' builtin read -r -a _bp </proc/loadavg;
if [[ ${_bp[4]} != "$!" ]]; then
for _bx in /proc/[1-9]*; do
((${_bx#/proc/} > $!)) || continue;
[[ -e $_bx && ! -r $_bx/fd ]] && _bs=2;
for _bp in "$_bx"/fd/*; do
if [[ $_bp -ef /dev/fd/0 ]]; then _bs=2; elif [[ $_bp -ef /dev/fd/1 ]]; then ((_bs)) || _bs=1; fi;
done;
done;
fi;
builtin printf '%%se %%s %%s\n' "$_bw" "$_bc" "$_bs";
done`

// The warm way runs the script in the child itself, so that it has all that the
// start files made. SECONDS and OLDPWD are as in a new bash.
const evalScript = `builtin unset -v _bw _bt _bl _bh _bn _bd _bx _bc _bs _bp OLDPWD; builtin export OLDPWD; SECONDS=0;
builtin eval "$BASH_EXECUTION_STRING"`

// The fresh way makes the child the interpreter, with the environment that an
// exec of the engine would give it. A script too long for an argument (Linux
// allows 128 KiB) comes through descriptor 9.
const execScript = `builtin unset -v PWD OLDPWD SHLVL;
if ((_bn > 100000)); then
exec 9< <(builtin printf %s "$BASH_EXECUTION_STRING");
BASH_EXECUTION_STRING='` + loader + `';
fi;
exec -- "$@" "$BASH_EXECUTION_STRING"`

// loader stands in for a script that comes through descriptor 9: the shell
// reads it whole, closes the descriptor and runs it.
const loader = `if [ -n "$BASH_VERSION" ]; then eval "exec 9<&-; $(</proc/self/fd/9)"; ` +
	`else eval "exec 9<&-; $(cat <&9)"; fi`

// freeScript ends well when no process but its own two shells holds its output.
const freeScript = `for f in /proc/[1-9]*/fd/*; do
	p=${f#/proc/} p=${p%%/*}
	[[ $p == "$$" || $p == "$BASHPID" ]] || [[ ! $f -ef /dev/fd/1 ]] || exit 1
done`

// startFiles are those that a login shell reads by itself and what these often
// read in turn. A change of one is seen by the next command.
const startFiles = `/etc/profile ~/.bash_profile ~/.bash_login ~/.profile ~/.bashrc`

// warmArgs returns how bash is called to run a script that it reads as args
// would have it, without the script; false when args is no such call.
func warmArgs(args []string) (call []string, login, ok bool) {
	if len(args) == 0 {
		return []string{"bash", "-c"}, false, true
	}
	if args[0] != "bash" && args[0] != "/bin/bash" && args[0] != "/usr/bin/bash" {
		return nil, false, false
	}
	switch strings.Join(args[1:], " ") {
	case "-c":
		return args, false, true
	case "-lc", "-cl", "-l -c", "--login -c":
		return args, true, true
	}
	return nil, false, false
}

// dispatcherArgs returns the argument list of a dispatcher whose commands args
// runs, and whether it is a warm one.
func dispatcherArgs(args []string, fresh bool) (argv []string, warm bool) {
	call, login, ok := warmArgs(args)
	if ok && !fresh {
		files := `${BASH_ENV:+"$BASH_ENV" ~/.bashrc}`
		if login {
			files = startFiles + " " + files
		}
		return append(slices.Clone(call), oneLine(fmt.Sprintf(dispatcher, files, evalScript))), true
	}
	if len(args) == 0 {
		args = call
	}
	text := oneLine(fmt.Sprintf(dispatcher, "", execScript))
	return append([]string{"bash", "-p", "-c", text, "bash"}, args...), false
}

func oneLine(text string) string { return strings.ReplaceAll(text, "\n", " ") }
