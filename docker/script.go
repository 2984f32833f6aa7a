package docker

import (
	"crypto/rand"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxArgument is the longest script that travels as an argument. Linux allows
// 128 KiB for one; a longer script goes in through stdin.
const maxArgument = 100 << 10

// tokenVar is in the environment of every process of a command, so that all
// of them can be found, also those that left its session.
const tokenVar = "BATCH_COMMAND"

// The wrapper runs the command as its child: its end is known although a
// process it left behind still holds the output. The end mark is told in two
// halves, so that a command that prints the wrapper's arguments (ps) does not
// print the mark. The wrapper goes to the directory itself, since the engine
// refuses to run anything in one that is gone, and takes from the environment
// what an engine exec would not have put there. The command's stderr is the
// wrapper's stdout, so that the wrapper's stderr holds nothing of the command.
//
// A start file that cannot be read would put a complaint of bash before every
// output. A name that bash would still expand is left for it to find.
//
// Arguments: two halves of the mark, directory, command.
const (
	wrapperHead = `exec 2>/dev/null
if cd -P -- "$3" 2>&1; then
	unset -v PWD OLDPWD SHLVL
	[[ -z $BASH_ENV || $BASH_ENV == *[\\\$$'\x60']* || -r $BASH_ENV ]] || unset -v BASH_ENV
	"${@:4}" `
	wrapperTail = `</dev/null 2>&1
else
	(exit 126)
fi
printf %s%s%03d "$1" "$2" "$?"`
)

// loader stands in for a script that comes through descriptor 9: the shell
// reads it whole, closes the descriptor and runs it. NUL bytes are dropped, as
// every shell must.
const loader = `if [ -n "$BASH_VERSION" ]; then eval "exec 9<&-; $(</proc/self/fd/9)"; ` +
	`else eval "exec 9<&-; $(cat <&9)"; fi`

// invocation is a command made ready for the engine.
type invocation struct {
	argv  []string
	env   []string
	stdin string // the script when it does not travel as an argument
	mark  string // the output ends before it
	token string
}

func prepare(cmd Command, dir string, number int64) invocation {
	halves := [2]string{rand.Text(), rand.Text()}
	inv := invocation{
		mark:  halves[0] + halves[1],
		token: fmt.Sprintf("%s=%d", tokenVar, number),
	}
	args := cmd.Args
	if len(args) == 0 {
		args = []string{"bash", "-c"}
	}
	script, redirect := cmd.Script, ""
	// The engine's JSON would change bytes that are not UTF-8.
	if len(script) > maxArgument || !utf8.ValidString(script) || strings.ContainsRune(script, 0) {
		inv.stdin, script, redirect = script, loader, "9<&0 "
	}
	inv.argv = append([]string{
		"bash", "-p", "-c", wrapperHead + redirect + wrapperTail, "bash", halves[0], halves[1], dir,
	}, args...)
	inv.argv = append(inv.argv, script)
	inv.env = append(append([]string(nil), cmd.Env...), inv.token)
	return inv
}

// killer ends a command's process tree in the container with nothing but bash.
// A process belongs to it that carries the token in its environment, that was
// started by one that belongs, or that shares a session with one. It goes over
// the processes until a round finds none, and prints "clean" then.
//
// Argument: the token.
const killer = `declare -A mine sessions
declare -i found=0
sessions=()
while ((SECONDS < 5)); do
	found=0
	for dir in /proc/[1-9]*; do
		pid=${dir#/proc/}
		((pid == 1 || pid == $$)) && continue
		IFS= read -r stat <"$dir/stat" || continue
		set -- "$1" ${stat##*) }
		state=$2 parent=$3 session=$5
		[[ $state == [ZX] ]] && continue
		hit=${mine[$pid]}${mine[$parent]}${sessions[$session]}
		if [[ -z $hit ]]; then
			while IFS= read -r -d '' entry; do
				[[ $entry == "$1" ]] && { hit=1; break; }
			done <"$dir/environ"
		fi
		[[ $hit ]] || continue
		mine[$pid]=1
		((session > 1)) && sessions[$session]=1
		kill -STOP "$pid"
		found+=1
	done 2>/dev/null
	((found)) || break
	kill -KILL "${!mine[@]}" 2>/dev/null
done
((found)) || printf clean`
